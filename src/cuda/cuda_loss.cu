/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses: a row of logits is one block's. What the rows add to the sums of a loss is added in their order.
 */
#include "cuda/best.h"
#include "cuda/cuda_elements.h"
#include "cuda/launch.h"

#include "base/batch.h"

enum { THREADS = 256, LANES = 256 /* of the sum over rows */ };

struct row_loss {
    double loss;
    int64_t counted, correct;
};

/* ---- Softmax cross-entropy. ---- */

template <typename T>
struct cross_entropy_work {
    float *logits;
    int64_t classes, stride;
    const int32_t *targets;
    float gradient_scale, smoothing, softcap;
    tensor<T> gradient;
    float *losses;
    row_loss *rows;
};

/* The gradient of a row; `sum` is that of exp(logit - max). Each logit is read before its place is written. */
template <typename T>
__device__ void cross_entropy_gradient(const cross_entropy_work<T> &work, int64_t row, float max, float sum)
{
    const int64_t target = work.targets[row];
    const float *logits = work.logits + row * work.stride;
    const float each = work.smoothing / (float)work.classes;
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS) {
        const float y = capped(logits[i], work.softcap), t = work.softcap > 0.0f ? y / work.softcap : 0.0f;
        const float wanted = each + (i == target ? 1.0f - work.smoothing : 0.0f);
        const float d = work.gradient_scale * (1.0f - t * t) * (expf(y - max) / sum - wanted);
        work.gradient.set(row, i, target == BATCH_IGNORED ? 0.0f : d);
    }
}

template <typename T>
__global__ void cross_entropy_kernel(cross_entropy_work<T> work)
{
    const int64_t row = blockIdx.x, target = work.targets[row];
    shared_array<float> scratch = shared_at<float>(0, MAX_WARPS);
    shared_array<int> indices = shared_at<int>(MAX_WARPS * sizeof(float), MAX_WARPS);
    const float *logits = work.logits + row * work.stride;
    const float at_target = target == BATCH_IGNORED ? 0.0f : capped(logits[target], work.softcap);
    best mine = {-INFINITY, 0x7fffffff};
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS)
        mine = better(mine, best{capped(logits[i], work.softcap), (int)i});
    const best max = block_best(mine, scratch, indices);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS)
        sum += expf(capped(logits[i], work.softcap) - max.value);
    sum = block_sum(sum, scratch);
    if (work.gradient.data)
        cross_entropy_gradient(work, row, max.value, sum);
    if (threadIdx.x != 0)
        return;
    row_loss loss = {0.0, 0, 0};
    if (target != BATCH_IGNORED) {
        loss.loss = (double)logf(sum) + ((double)max.value - (double)at_target);
        loss.counted = 1;
        loss.correct = max.index == target;
        if (work.losses)
            work.losses[row] = (float)loss.loss;
    }
    work.rows[row] = loss;
}

/* Lane i has the rows i, i + LANES, ...; the lanes are added in a tree. */
__global__ void add_losses_kernel(const row_loss *rows, int64_t count, loss_sums *sums)
{
    shared_array<double> losses = shared_at<double>(0, MAX_WARPS);
    shared_array<long long> counts = shared_at<long long>(MAX_WARPS * sizeof(double), MAX_WARPS);
    row_loss mine = {0.0, 0, 0};
    for (int64_t row = threadIdx.x; row < count; row += LANES) {
        mine.loss += rows[row].loss;
        mine.counted += rows[row].counted;
        mine.correct += rows[row].correct;
    }
    const double loss = block_sum(mine.loss, losses);
    const long long counted = block_sum((long long)mine.counted, counts),
                    correct = block_sum((long long)mine.correct, counts);
    if (threadIdx.x == 0) {
        sums->total += loss;
        sums->counted += counted;
        sums->correct += correct;
    }
}

static rotary_status rows_begin(const struct backend *backend, int64_t count, row_loss **rows,
                                rotary_error *error)
{
    void *memory = NULL;
    rotary_status status =
        cuda_scratch(backend, CUDA_SCRATCH_SUMS, (size_t)count * sizeof(row_loss), &memory, error);
    *rows = static_cast<row_loss *>(memory);
    return status;
}

static rotary_status rows_end(const struct backend *backend, const row_loss *rows, int64_t count,
                              loss_sums *sums, rotary_error *error)
{
    cuda_launch launch = {};
    launch.name = "add_losses";
    launch.grid = dim3(1, 1, 1);
    launch.threads = LANES;
    launch.shared = MAX_WARPS * (sizeof(double) + sizeof(long long));
    return cuda_run(backend, launch, error, add_losses_kernel, rows, count, sums);
}

extern "C" rotary_status cuda_cross_entropy(const struct backend *backend,
                                            const struct backend_cross_entropy *call, rotary_error *error)
{
    const int64_t count = call->logits.rows;
    row_loss *rows;
    rotary_status status = rows_begin(backend, count, &rows, error);
    if (status != ROTARY_OK || count == 0)
        return status;
    status = with_type(backend->storage, [&](auto zero) {
        typedef decltype(zero) T;
        cross_entropy_work<T> work = {};
        work.logits = static_cast<float *>(call->logits.data);
        work.classes = call->logits.columns;
        work.stride = call->logits.stride;
        work.targets = call->targets;
        work.gradient_scale = call->gradient_scale;
        work.smoothing = call->smoothing;
        work.softcap = call->softcap;
        work.gradient = tensor_of<T>(call->gradient);
        work.losses = call->losses;
        work.rows = rows;
        cuda_launch launch = {};
        launch.name = "cross_entropy";
        launch.grid = dim3((unsigned)count, 1, 1);
        launch.threads = THREADS;
        launch.shared = MAX_WARPS * (sizeof(float) + sizeof(int));
        return cuda_run(backend, launch, error, cross_entropy_kernel<T>, work);
    });
    return status == ROTARY_OK ? rows_end(backend, rows, count, call->sums, error) : status;
}

/* ---- The squared error. ---- */

template <typename T>
struct squared_error_work {
    tensor<float> predictions;
    const float *targets;
    float gradient_scale;
    tensor<T> gradient;
    row_loss *rows;
};

template <typename T>
__global__ void squared_error_kernel(squared_error_work<T> work)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= work.predictions.rows)
        return;
    const double away = (double)work.predictions.get(row, 0) - (double)work.targets[row];
    if (work.gradient.data)
        work.gradient.set(row, 0, (float)((double)work.gradient_scale * 2.0 * away));
    work.rows[row] = row_loss{away * away, 1, 0};
}

extern "C" rotary_status cuda_squared_error(const struct backend *backend,
                                            const struct backend_squared_error *call, rotary_error *error)
{
    const int64_t count = call->predictions.rows;
    row_loss *rows;
    rotary_status status = rows_begin(backend, count, &rows, error);
    if (status != ROTARY_OK || count == 0)
        return status;
    status = with_type(backend->storage, [&](auto zero) {
        typedef decltype(zero) T;
        squared_error_work<T> work = {};
        work.predictions = tensor_of<float>(call->predictions);
        work.targets = call->targets;
        work.gradient_scale = call->gradient_scale;
        work.gradient = tensor_of<T>(call->gradient);
        work.rows = rows;
        cuda_launch launch = {};
        launch.name = "squared_error";
        launch.grid = dim3(cuda_blocks(count, THREADS), 1, 1);
        launch.threads = THREADS;
        return cuda_run(backend, launch, error, squared_error_kernel<T>, work);
    });
    return status == ROTARY_OK ? rows_end(backend, rows, count, call->sums, error) : status;
}

/* ---- What else is done to logits and sums. ---- */

__global__ void softcap_kernel(tensor<float> logits, float cap)
{
    const int64_t row = blockIdx.x;
    for (int64_t i = threadIdx.x; i < logits.columns; i += THREADS)
        logits.set(row, i, capped(logits.get(row, i), cap));
}

extern "C" rotary_status cuda_softcap(const struct backend *backend, const struct backend_softcap *call,
                                      rotary_error *error)
{
    cuda_launch launch = {};
    launch.name = "softcap";
    launch.grid = dim3((unsigned)call->logits.rows, 1, 1);
    launch.threads = THREADS;
    return cuda_run(backend, launch, error, softcap_kernel, tensor_of<float>(call->logits), call->cap);
}

__global__ void add_sums_kernel(loss_sums *to, const loss_sums *from)
{
    to->total += from->total;
    to->counted += from->counted;
    to->correct += from->correct;
}

extern "C" rotary_status cuda_add_sums(const struct backend *backend, const struct backend_add_sums *call,
                                       rotary_error *error)
{
    cuda_launch launch = {};
    launch.name = "add_sums";
    launch.grid = dim3(1, 1, 1);
    launch.threads = 1;
    return cuda_run(backend, launch, error, add_sums_kernel, call->to, call->from);
}
