/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer's passes over the flat arrays of the parameter table. Loss, norm and clip scale stay on the
 * device: whether anything is updated is decided there.
 */
#include "cuda/device.h"
#include "cuda/launch.h"

extern "C" {
#include "backend/parameters.h"
}

enum { THREADS = 256, CHUNK = 4096 /* elements of a block */, MAX_TABLES = 2 };

/* ---- The norm of all gradients. ---- */

/* The sum of squares of a chunk. */
__global__ void square_kernel(const float *gradients, int64_t count, double *sums)
{
    shared_array<double> scratch = shared_at<double>(0, MAX_WARPS);
    const int64_t first = (int64_t)blockIdx.x * CHUNK, end = first + CHUNK < count ? first + CHUNK : count;
    double sum = 0.0;
    for (int64_t i = first + threadIdx.x; i < end; i += THREADS)
        sum += (double)gradients[i] * (double)gradients[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

/* One block: norm and clip scale of the sums of all chunks. */
__global__ void norm_kernel(const double *sums, int64_t count, double max_grad_norm,
                            step_statistics *statistics)
{
    shared_array<double> scratch = shared_at<double>(0, MAX_WARPS);
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < count; i += THREADS)
        sum += sums[i];
    sum = block_sum(sum, scratch);
    if (threadIdx.x != 0)
        return;
    statistics->diverged = !isfinite(statistics->loss.total);
    if (statistics->diverged)
        return;
    const double norm = sqrt(sum), scale = max_grad_norm / (norm + 1e-6);
    statistics->gradient_norm = norm;
    statistics->diverged = !isfinite(norm);
    if (!statistics->diverged)
        statistics->clip_scale = max_grad_norm == 0.0 || scale >= 1.0 ? 1.0 : scale;
}

static rotary_status measure(const struct backend *backend, const struct backend_update *call,
                             rotary_error *error)
{
    const struct parameters *tables[MAX_TABLES] = {call->parameters, call->parameters->adapter};
    int64_t chunks = 0;
    for (int i = 0; i < MAX_TABLES; i++)
        chunks += tables[i] ? divide_up(tables[i]->trained_elements, CHUNK) : 0;
    void *memory = NULL;
    rotary_status status =
        cuda_scratch(backend, CUDA_SCRATCH_SUMS, (size_t)max_i64(chunks, 1) * sizeof(double), &memory, error);
    double *sums = static_cast<double *>(memory);
    cuda_launch launch = {};
    launch.threads = THREADS;
    launch.shared = MAX_WARPS * sizeof(double);
    launch.name = "square";
    for (int i = 0; i < MAX_TABLES && status == ROTARY_OK; i++) {
        if (!tables[i])
            continue;
        launch.grid = dim3(cuda_blocks(tables[i]->trained_elements, CHUNK), 1, 1);
        status = cuda_run(backend, launch, error, square_kernel, tables[i]->gradients,
                          tables[i]->trained_elements, sums);
        sums += launch.grid.x;
    }
    launch.name = "norm";
    launch.grid = dim3(1, 1, 1);
    if (status == ROTARY_OK)
        status = cuda_run(backend, launch, error, norm_kernel, static_cast<const double *>(memory), chunks,
                          call->max_grad_norm, call->parameters->statistics);
    return status;
}

/* ---- Adam. ---- */

/* A trained row of the table. */
struct adam_row {
    int64_t first_chunk; /* of all rows' */
    int64_t elements, value, gradient;
    float decay;
};

struct adam_work {
    const adam_row *rows;
    int count;
    adam settings;
    float *values, *gradients, *moment1, *moment2;
    const step_statistics *statistics;
};

/* The row that has this block's chunk. */
__device__ static adam_row row_of(const adam_work &work)
{
    int low = 0, high = work.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (work.rows[middle].first_chunk <= (int64_t)blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return work.rows[low];
}

__global__ void adam_kernel(adam_work work)
{
    if (work.statistics->diverged)
        return;
    const adam settings = work.settings;
    const adam_row row = row_of(work);
    const float clip = (float)work.statistics->clip_scale;
    const int64_t first = ((int64_t)blockIdx.x - row.first_chunk) * CHUNK;
    for (int64_t i = first + threadIdx.x; i < first + CHUNK && i < row.elements; i += THREADS) {
        float value = work.values[row.value + i], *m = &work.moment1[row.gradient + i],
              *v = &work.moment2[row.gradient + i];
        float g = clip * work.gradients[row.gradient + i];
        if (!settings.decoupled)
            g += row.decay * value;
        *m = settings.beta1 * *m + (1.0f - settings.beta1) * g;
        *v = settings.beta2 * *v + (1.0f - settings.beta2) * g * g;
        const float step = *m / settings.correction1 / (sqrtf(*v / settings.correction2) + settings.epsilon);
        if (settings.decoupled)
            value -= settings.learning_rate * row.decay * value;
        work.values[row.value + i] = value - settings.learning_rate * step;
        work.gradients[row.gradient + i] = 0.0f;
    }
}

/* Fills the trained rows, and returns how many chunks they have. */
static int64_t fill_rows(const struct parameters *parameters, const adam &settings, adam_row *rows,
                         int *count)
{
    int64_t chunks = 0;
    *count = 0;
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        if (!parameter_is_trained(row))
            continue;
        rows[(*count)++] = adam_row{chunks, parameter_elements(row), row->offset, row->gradient_offset,
                                    row->decay ? settings.weight_decay : 0.0f};
        chunks += divide_up(parameter_elements(row), CHUNK);
    }
    return chunks;
}

static rotary_status update_table(const struct backend *backend, const struct parameters *parameters,
                                  const struct backend_update *call, rotary_error *error)
{
    adam_row *rows = static_cast<adam_row *>(malloc((size_t)max_i64(parameters->count, 1) * sizeof *rows));
    if (!rows)
        return rotary_fail_memory(error, "for a step of the optimizer");
    adam_work work = {};
    cuda_launch launch = {};
    void *memory = NULL;
    launch.name = "adam";
    launch.threads = THREADS;
    launch.grid = dim3((unsigned)fill_rows(parameters, call->adam, rows, &work.count), 1, 1);
    rotary_status status =
        cuda_upload(backend, CUDA_SCRATCH_INDEX, rows, (size_t)work.count * sizeof *rows, &memory, error);
    free(rows);
    if (status != ROTARY_OK)
        return status;
    work.rows = static_cast<const adam_row *>(memory);
    work.settings = call->adam;
    work.values = parameters->values;
    work.gradients = parameters->gradients;
    work.moment1 = parameters->moment1;
    work.moment2 = parameters->moment2;
    work.statistics = call->parameters->statistics;
    return cuda_run(backend, launch, error, adam_kernel, work);
}

extern "C" rotary_status cuda_update(const struct backend *backend, const struct backend_update *call,
                                     rotary_error *error)
{
    rotary_status status = measure(backend, call, error);
    for (const struct parameters *table = call->parameters; table && status == ROTARY_OK;
         table = table->adapter)
        status = update_table(backend, table, call, error);
    return status;
}
