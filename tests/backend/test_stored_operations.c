/* SPDX-License-Identifier: Apache-2.0
 *
 * Products with weights, and embeddings, that stay as a file has them, beside the reference backend: f32, f16
 * and bf16, on every instruction set and in both storage types.
 */
#include "backend/backend_pair.h"
#include "base/element.h"

enum { ROWS = 20 };

/* A weight of two parts, for few rows and many. One of many rows is not packed at once. */
static void test_stored(struct pair *pair, rotary_dtype dtype, int64_t rows, bool relu)
{
    enum { MAX_COLUMNS = 4200, INNER = 57, FIRST = 31 };
    static uint32_t memory[MAX_COLUMNS * INNER];
    const int columns = rows > 9 && dtype == ROTARY_BF16 ? MAX_COLUMNS : 83;
    for (int i = 0; i < columns * INNER; i++)
        rotary_set_element(memory, i, dtype, check_random(7, (uint64_t)i, 2));
    const char *second = (const char *)memory + (size_t)(FIRST * INNER) * rotary_dtype_size(dtype);
    const struct stored_rows parts[] = {
        {.data = memory, .dtype = dtype, .rows = FIRST},
        {.data = second, .dtype = dtype, .first = FIRST, .rows = columns - FIRST}};
    const struct stored_weight weight = {.rows = columns, .columns = INNER, .parts = parts, .count = 2};
    int32_t tokens[ROWS];
    for (int i = 0; i < ROWS; i++)
        tokens[i] = (i * 37) % columns;
    const struct tensor *in = pair_storage(pair, rows, INNER),
                        *out = relu ? pair_floats(pair, rows, columns) : pair_storage(pair, rows, columns),
                        *bias = relu ? pair_floats(pair, 1, columns) : NULL,
                        *ids = pair_bytes(pair, tokens, sizeof tokens),
                        *embedded = pair_floats(pair, rows, INNER);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, stored_matmul,
            {.out = on(out, side),
             .in = on(in, side),
             .weight = &weight,
             .bias = floats_on(bias, side),
             .epilogue = relu ? MATMUL_EPILOGUE_RELU : MATMUL_EPILOGUE_NONE});
        RUN(pair, side, stored_embedding,
            {.rows = rows,
             .out = floats_on(embedded, side),
             .tokens = ids->memory[side],
             .table = &weight,
             .scale = 1.5f});
    }
    pair_compare(pair, out, 2 * pair_bound(pair), "product with a weight of a file");
    pair_compare(pair, embedded, 1e-6, "embeddings of a file");
    pair_clear(pair);
}

static void test_all(struct pair *pair)
{
    for (rotary_dtype dtype = ROTARY_F32; dtype <= ROTARY_BF16; dtype++)
        for (int64_t rows = 1; rows <= ROWS; rows += rows < 9 ? 4 : 11)
            test_stored(pair, dtype, rows, rows == 5);
}

int main(void)
{
    pair_test_all(test_all);
    return check_report();
}
