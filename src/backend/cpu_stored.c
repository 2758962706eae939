/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights as a file has them, in the cpu backend. For few rows, as in decoding, each number of the weight is
 * read once and multiplied where it is. For more, some of its rows at a time are packed, and multiplied by
 * the matmuls of other weights: the memory for that is kept, and shared by all weights.
 */
#include "backend/cpu.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"

enum {
    FEW_ROWS = 8,
    BLOCK_ELEMENTS = 1 << 16, /* of a weight, in a work item, at most */
    SHARED_BLOCKS = 8,  /* work items are equal and a multiple of so many: no thread waits for the last */
    PACKED_ROWS = 4096, /* of a weight, at once */
    BLOCK_TOKENS = 16
};

struct product {
    const struct layer_kernels *kernels;
    const struct backend_stored_matmul *call;
    const float *in; /* [rows, inner] */
    float *out;      /* [rows, columns] */
    int64_t block;   /* rows of the weight, of a work item */
};

/* Bias and epilogue of some columns of a row. */
static void finish(const struct backend_stored_matmul *call, float *out, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float x = out[i] + (call->bias ? call->bias[first + i] : 0.0f);
        out[i] = call->epilogue == MATMUL_EPILOGUE_RELU && x < 0.0f ? 0.0f : x;
    }
}

static void multiply_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct product *product = argument;
    const struct backend_stored_matmul *call = product->call;
    const struct stored_weight *weight = call->weight;
    const int64_t begin = index * product->block, end = min_i64(begin + product->block, weight->rows);
    for (int64_t row = begin, count; row < end; row += count) {
        const struct stored_rows *part = stored_part(weight, row);
        count = min_i64(end, part->first + part->rows) - row;
        const struct layer_stored_product work = {.rows = call->in.rows,
                                                  .columns = count,
                                                  .inner = weight->columns,
                                                  .in = product->in,
                                                  .weight = stored_row(weight, part, row),
                                                  .dtype = part->dtype,
                                                  .out = product->out + row,
                                                  .out_stride = weight->rows};
        product->kernels->stored_product(&work);
    }
    for (int64_t row = 0; row < call->in.rows; row++)
        finish(call, product->out + row * weight->rows + begin, begin, end - begin);
}

/* Rows of the weight, of a work item. */
static int64_t block_rows(const struct stored_weight *weight)
{
    int64_t shares = divide_up(weight->rows * weight->columns, SHARED_BLOCKS * BLOCK_ELEMENTS);
    return divide_up(weight->rows, SHARED_BLOCKS * shares);
}

static rotary_status multiply_few(const struct backend *backend, const struct backend_stored_matmul *call,
                                  rotary_error *error)
{
    const struct stored_weight *weight = call->weight;
    const struct layer_kernels *kernels = cpu_of(backend)->kernels;
    const int64_t rows = call->in.rows, inner = round_up(rows * weight->columns, 16);
    void *memory;
    rotary_status status = cpu_scratch(backend, &memory, inner + rows * weight->rows, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    float *in = memory, *out = in + inner;
    for (int64_t row = 0; row < rows; row++)
        kernels->widen(call->in.dtype, in + row * weight->columns, matrix_rows(call->in, row, 1).data,
                       weight->columns);
    struct product product = {
        .kernels = kernels, .call = call, .in = in, .out = out, .block = block_rows(weight)};
    rotary_parallel_for(backend->threads, divide_up(weight->rows, product.block), multiply_block, &product);
    for (int64_t row = 0; row < rows; row++)
        kernels->to_storage(call->out.dtype, matrix_rows(call->out, row, 1).data, out + row * weight->rows,
                            weight->rows);
    return ROTARY_OK;
}

/* The shared packed weight of this shape; the cpu backend owns it. */
static rotary_status find_packed(const struct backend *backend, int64_t inner, int64_t columns,
                                 struct packed_weight **weight, rotary_error *error)
{
    struct cpu *cpu = cpu_of(backend);
    struct cpu_shared_weight *place = &cpu->shared[cpu->next_shared];
    for (int i = 0; i < CPU_SHARED_WEIGHTS; i++)
        if (cpu->shared[i].weight && cpu->shared[i].inner == inner && cpu->shared[i].columns == columns) {
            *weight = cpu->shared[i].weight;
            return ROTARY_OK;
        }
    const struct packed_weight_config config = {
        .dtype = backend->storage, .inner = inner, .columns = columns, .transposed = true};
    struct packed_weight *made;
    rotary_status status = packed_weight_create(&made, cpu->matmul, &config, error);
    if (status != ROTARY_OK)
        return status;
    packed_weight_destroy(place->weight);
    *place = (struct cpu_shared_weight){.weight = made, .inner = inner, .columns = columns};
    cpu->next_shared = (cpu->next_shared + 1) % CPU_SHARED_WEIGHTS;
    *weight = made;
    return ROTARY_OK;
}

static rotary_status multiply_packed(const struct backend *backend, const struct backend_stored_matmul *call,
                                     int64_t first, int64_t columns, rotary_error *error)
{
    struct matmul *matmul = cpu_of(backend)->matmul;
    struct packed_weight *weight = NULL;
    rotary_status status = find_packed(backend, call->weight->columns, columns, &weight, error);
    if (status == ROTARY_OK)
        status = packed_weight_fill_stored(weight, matmul, call->weight, first, error);
    const struct backend_matmul part = {.out = matrix_block(call->out, 0, call->out.rows, first, columns),
                                        .in = call->in,
                                        .weight = weight,
                                        .bias = call->bias ? call->bias + first : NULL,
                                        .epilogue = call->epilogue};
    return status == ROTARY_OK ? matmul_run(matmul, &part, error) : status;
}

rotary_status cpu_stored_matmul(const struct backend *backend, const struct backend_stored_matmul *call,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (call->in.rows <= FEW_ROWS)
        return multiply_few(backend, call, error);
    for (int64_t first = 0; status == ROTARY_OK && first < call->weight->rows; first += PACKED_ROWS)
        status =
            multiply_packed(backend, call, first, min_i64(PACKED_ROWS, call->weight->rows - first), error);
    return status;
}

struct rows_of_tokens {
    const struct layer_kernels *kernels;
    const struct backend_stored_embedding *call;
};

static void embed_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct rows_of_tokens *rows = argument;
    const struct backend_stored_embedding *call = rows->call;
    const int64_t width = call->table->columns, end = min_i64((index + 1) * BLOCK_TOKENS, call->rows);
    for (int64_t row = index * BLOCK_TOKENS; row < end; row++) {
        const struct stored_rows *part = stored_part(call->table, call->tokens[row]);
        float *out = call->out + row * width;
        rows->kernels->widen(part->dtype, out, stored_row(call->table, part, call->tokens[row]), width);
        for (int64_t i = 0; i < width; i++)
            out[i] *= call->scale;
    }
}

rotary_status cpu_stored_embedding(const struct backend *backend, const struct backend_stored_embedding *call,
                                   rotary_error *error)
{
    (void)error;
    struct rows_of_tokens rows = {.kernels = cpu_of(backend)->kernels, .call = call};
    rotary_parallel_for(backend->threads, divide_up(call->rows, BLOCK_TOKENS), embed_block, &rows);
    return ROTARY_OK;
}
