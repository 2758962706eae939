/* SPDX-License-Identifier: Apache-2.0
 *
 * The most probable classes: logits of some rows at a time, and of each the best, one after another.
 */
#include "cuda/best.h"
#include "cuda/cuda_elements.h"
#include "cuda/launch.h"

enum { THREADS = 256, MAX_LOGITS = 1 << 24 /* at once */, NO_CLASS = 0x7fffffff };

struct choice_work {
    float *logits; /* [rows, classes] */
    int64_t classes, count;
    float softcap;
    const int32_t *excluded;
    int64_t excluded_count;
    float *log_probabilities; /* [rows, count] */
    int32_t *chosen;
};

__device__ static inline bool is_excluded(const choice_work &work, int64_t one)
{
    for (int64_t i = 0; i < work.excluded_count; i++)
        if (work.excluded[i] == one)
            return true;
    return false;
}

/* The best class that comes after `last` in the order of better(). */
__device__ static best next_best(const choice_work &work, const float *logits, best last,
                                 shared_array<float> values, shared_array<int> indices)
{
    best mine = {-INFINITY, NO_CLASS};
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS) {
        const best other = {logits[i], (int)i};
        const bool after =
            other.value < last.value || (other.value == last.value && other.index > last.index);
        if (after && !is_excluded(work, i))
            mine = better(mine, other);
    }
    return block_best(mine, values, indices);
}

/* A block for a row. */
__global__ void choose_kernel(choice_work work)
{
    shared_array<float> values = shared_at<float>(0, MAX_WARPS);
    shared_array<int> indices = shared_at<int>(MAX_WARPS * sizeof(float), MAX_WARPS);
    const int64_t row = blockIdx.x;
    float *logits = work.logits + row * work.classes, max = -INFINITY, sum = 0.0f;
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS) {
        logits[i] = capped(logits[i], work.softcap);
        max = fmaxf(max, logits[i]);
    }
    max = block_max(max, values);
    for (int64_t i = threadIdx.x; i < work.classes; i += THREADS)
        sum += expf(logits[i] - max);
    const float log_sum = logf(block_sum(sum, values));
    best last = {INFINITY, -1};
    for (int64_t i = 0; i < work.count; i++) {
        last = next_best(work, logits, last, values, indices);
        if (threadIdx.x != 0)
            continue;
        const bool found = last.index != NO_CLASS; /* not where logits are no numbers */
        work.chosen[row * work.count + i] = found ? last.index : 0;
        work.log_probabilities[row * work.count + i] = found ? (last.value - max) - log_sum : NAN;
    }
}

static rotary_status choose_rows(const struct backend *backend, const struct backend_top_classes *call,
                                 const choice_work &all, int64_t first, int64_t rows, rotary_error *error)
{
    choice_work work = all;
    struct backend_matmul product = {};
    product.out = matrix_of(work.logits, ROTARY_F32, rows, work.classes);
    product.in = matrix_rows(call->in, first, rows);
    product.weight = call->weight;
    product.bias = call->bias;
    work.log_probabilities += first * work.count;
    work.chosen += first * work.count;
    cuda_launch launch = {};
    launch.name = "choose";
    launch.grid = dim3((unsigned)rows, 1, 1);
    launch.threads = THREADS;
    launch.shared = MAX_WARPS * (sizeof(float) + sizeof(int));
    rotary_status status = cuda_matmul(backend, &product, error);
    return status == ROTARY_OK ? cuda_run(backend, launch, error, choose_kernel, work) : status;
}

/* Memory for the logits of `rows` rows and for all choices. */
static rotary_status begin(const struct backend *backend, const struct backend_top_classes *call,
                           int64_t rows, choice_work *work, rotary_error *error)
{
    const size_t choices = (size_t)(call->in.rows * call->count);
    void *logits = NULL, *made = NULL, *excluded = NULL;
    work->classes = cuda_weight_columns(call->weight);
    work->count = call->count;
    work->softcap = call->softcap;
    work->excluded_count = call->excluded_count;
    rotary_status status = cuda_scratch(backend, CUDA_SCRATCH_LOGITS,
                                        (size_t)(rows * work->classes) * sizeof(float), &logits, error);
    if (status == ROTARY_OK)
        status = cuda_scratch(backend, CUDA_SCRATCH_CHOICES, choices * (sizeof(float) + sizeof(int32_t)),
                              &made, error);
    if (status == ROTARY_OK)
        status = cuda_upload(backend, CUDA_SCRATCH_INDEX, call->excluded,
                             (size_t)call->excluded_count * sizeof(int32_t), &excluded, error);
    work->logits = static_cast<float *>(logits);
    work->log_probabilities = static_cast<float *>(made);
    work->chosen = reinterpret_cast<int32_t *>(work->log_probabilities + choices);
    work->excluded = static_cast<const int32_t *>(excluded);
    return status;
}

extern "C" rotary_status cuda_top_classes(const struct backend *backend,
                                          const struct backend_top_classes *call, rotary_error *error)
{
    const int64_t rows = min_i64(max_i64(MAX_LOGITS / cuda_weight_columns(call->weight), 1), call->in.rows);
    const size_t choices = (size_t)(call->in.rows * call->count);
    choice_work work = {};
    if (call->in.rows == 0)
        return ROTARY_OK;
    rotary_status status = begin(backend, call, rows, &work, error);
    for (int64_t first = 0; status == ROTARY_OK && first < call->in.rows; first += rows)
        status = choose_rows(backend, call, work, first, min_i64(rows, call->in.rows - first), error);
    if (status == ROTARY_OK)
        status = backend->operations->read(backend, call->log_probabilities, work.log_probabilities,
                                           choices * sizeof(float), error);
    if (status == ROTARY_OK)
        status =
            backend->operations->read(backend, call->chosen, work.chosen, choices * sizeof(int32_t), error);
    return status;
}
