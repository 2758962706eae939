/* SPDX-License-Identifier: Apache-2.0
 *
 * Products with weights, and embeddings, that stay as a file has them, beside the reference backend: f32, f16
 * and bf16, on every instruction set and in both storage types.
 */
#include "backend/backend_pair.h"
#include "base/element.h"
#include "base/isa.h"

enum { ROWS = 20 };

/* As that of test_operations.c. */
static double bound_of(const struct pair *pair)
{
    return pair->backends[SIDE_REFERENCE].storage == ROTARY_F32 ? 3e-6 : 0x1p-7;
}

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
    pair_compare(pair, out, 2 * bound_of(pair), "product with a weight of a file");
    pair_compare(pair, embedded, 1e-6, "embeddings of a file");
    pair_clear(pair);
}

static void test_all(rotary_isa isa, rotary_dtype storage)
{
    struct pair pair;
    rotary_error error = {0};
    rotary_status status = pair_create(&pair, isa, storage, &error);
    if (status == ROTARY_UNSUPPORTED || !CHECK_INT(status, ROTARY_OK))
        return;
    check_about("%s, %s", rotary_isa_name(isa), rotary_dtype_name(storage));
    for (rotary_dtype dtype = ROTARY_F32; dtype <= ROTARY_BF16; dtype++)
        for (int64_t rows = 1; rows <= ROWS; rows += rows < 9 ? 4 : 11)
            test_stored(&pair, dtype, rows, rows == 5);
    check_about("%s", "");
    pair_destroy(&pair);
}

int main(void)
{
    /* The best instruction set first, as in test_operations.c. */
    for (int i = ROTARY_ISAS - 1; i > 0; i--) {
        if (!rotary_isa_available(rotary_isa_order[i]))
            continue;
        test_all(rotary_isa_order[i], ROTARY_F32);
        test_all(rotary_isa_order[i], ROTARY_BF16);
    }
    return check_report();
}
