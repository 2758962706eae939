/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of embedding tables and of their gradients.
 */
#include "cuda/cuda_elements.h"
#include "cuda/dropout_mask.h"
#include "cuda/launch.h"

enum { THREADS = 128 };

struct embedding_work {
    int64_t rows, width, time;
    float *out;
    const int32_t *tokens;
    const float *table, *position_table;
    const int32_t *positions;
    const float *type_table;
    const int32_t *types;
    float scale;
    dropout_mask mask;
};

/* A block for some columns of a row. */
__global__ void embedding_forward_kernel(embedding_work work)
{
    const int64_t width = work.width, row = blockIdx.x, i = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    if (i >= width)
        return;
    float x = work.scale * work.table[work.tokens[row] * width + i];
    if (work.position_table) {
        const int64_t position = work.positions ? work.positions[row] : row % work.time;
        x += work.position_table[position * width + i];
    }
    if (work.type_table)
        x += work.type_table[(work.types ? work.types[row] : 0) * width + i];
    work.out[row * width + i] = x * dropout_factor(work.mask, row, i);
}

static cuda_launch over(const char *name, int64_t rows, int64_t width)
{
    cuda_launch launch = {};
    launch.name = name;
    launch.grid = dim3((unsigned)rows, cuda_blocks(width, THREADS), 1);
    launch.threads = THREADS;
    return launch;
}

extern "C" rotary_status cuda_embedding_forward(const struct backend *backend,
                                                const struct backend_embedding_forward *call,
                                                rotary_error *error)
{
    embedding_work work = {};
    work.rows = call->rows;
    work.width = call->width;
    work.time = call->time;
    work.out = call->out;
    work.tokens = call->tokens;
    work.table = call->table;
    work.position_table = call->position_table;
    work.positions = call->positions;
    work.type_table = call->type_table;
    work.types = call->types;
    work.scale = call->scale;
    work.mask = dropout_mask_of(call->dropout);
    return cuda_run(backend, over("embedding_forward", call->rows, call->width), error,
                    embedding_forward_kernel, work);
}

/* table[index of a row] += scale * dropout(d_out[row]), in the order of the rows. */
struct embedding_gradient {
    int64_t rows, width;
    const float *d_out;
    float *table;
    const int32_t *index; /* NULL: row % time, of time 1: all 0 */
    int64_t time;
    float scale;
    dropout_mask mask;
};

__device__ static inline int64_t index_of(const embedding_gradient &work, int64_t row)
{
    return work.index ? work.index[row] : row % work.time;
}

/* The first row of an index adds up all of them. */
__global__ void embedding_backward_kernel(embedding_gradient work)
{
    const int64_t first = blockIdx.x, i = (int64_t)blockIdx.y * THREADS + threadIdx.x, width = work.width;
    const int64_t index = index_of(work, first);
    int seen = 0;
    for (int64_t row = threadIdx.x; row < first && !seen; row += THREADS)
        seen = index_of(work, row) == index;
    if (__syncthreads_or(seen) || i >= width)
        return;
    float sum = work.table[index * width + i];
    for (int64_t row = first; row < work.rows; row++)
        if (index_of(work, row) == index)
            sum += work.scale * (work.d_out[row * width + i] * dropout_factor(work.mask, row, i));
    work.table[index * width + i] = sum;
}

static rotary_status add_gradient(const struct backend *backend, const embedding_gradient &work,
                                  rotary_error *error)
{
    if (!work.table)
        return ROTARY_OK;
    return cuda_run(backend, over("embedding_backward", work.rows, work.width), error,
                    embedding_backward_kernel, work);
}

extern "C" rotary_status cuda_embedding_backward(const struct backend *backend,
                                                 const struct backend_embedding_backward *call,
                                                 rotary_error *error)
{
    embedding_gradient work = {};
    work.rows = call->rows;
    work.width = call->width;
    work.d_out = call->d_out;
    work.mask = dropout_mask_of(call->dropout);
    work.table = call->d_table;
    work.index = call->tokens;
    work.time = 1;
    work.scale = call->scale;
    rotary_status status = add_gradient(backend, work, error);
    work.table = call->d_position_table;
    work.index = call->positions;
    work.time = call->time;
    work.scale = 1.0f;
    if (status == ROTARY_OK)
        status = add_gradient(backend, work, error);
    work.table = call->d_type_table;
    work.index = call->types;
    work.time = 1;
    return status == ROTARY_OK ? add_gradient(backend, work, error) : status;
}
