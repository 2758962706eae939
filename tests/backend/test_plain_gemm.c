/* SPDX-License-Identifier: Apache-2.0
 *
 * The GEMMs of a program without oneDNN (src/backend/plain_gemm.c), which this program has in its place, against sums
 * in double: every type, epilogue and layout that matmuls ask for.
 */
#include "backend/onednn.h"
#include "base/half.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More columns than are summed at once, and no multiple of them. */
enum { ROWS = 5, COLUMNS = 70, INNER = 9, STRIDE = 75 };

struct arrays {
    float source[ROWS * STRIDE], weights[INNER * STRIDE], bias[COLUMNS], before[ROWS * STRIDE];
    uint16_t source_bf16[ROWS * STRIDE], weights_bf16[INNER * STRIDE], before_bf16[ROWS * STRIDE];
};

static void fill(float *values, uint16_t *rounded, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = check_random(seed, (uint64_t)i, 3);
        if (!rounded)
            continue;
        rounded[i] = rotary_bf16_from_float(values[i]);
        values[i] = rotary_bf16_to_float(rounded[i]); /* the same numbers in both types */
    }
}

static void compare(const struct gemm_shape *shape, const struct arrays *arrays, const void *got)
{
    const bool bf16 = shape->destination_type == ROTARY_BF16;
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t column = 0; column < COLUMNS; column++) {
            const int64_t at = row * STRIDE + column;
            double wanted = shape->bias ? (double)arrays->bias[column] : 0.0, size = fabs(wanted);
            for (int64_t k = 0; k < INNER; k++) {
                const double term =
                    (double)arrays->source[row * shape->source_row + k * shape->source_column] *
                    (double)arrays->weights[k * STRIDE + column];
                wanted += term;
                size += fabs(term);
            }
            if (shape->epilogue == GEMM_EPILOGUE_SUM) {
                wanted += (double)arrays->before[at];
                size += fabs((double)arrays->before[at]);
            }
            if (shape->epilogue == GEMM_EPILOGUE_RELU)
                wanted = fmax(wanted, 0.0);
            const double value =
                (double)(bf16 ? rotary_bf16_to_float(((const uint16_t *)got)[at]) : ((const float *)got)[at]);
            CHECK_NEAR(value, wanted, (INNER + 2) * 0x1p-24 * size + (bf16 ? 0x1p-8 * fabs(wanted) : 0.0));
        }
}

/* Weights as they are, or as a packed panel of `source` in f32, which may be transposed. */
static void run(struct gemms *gemms, const struct gemm_shape *asked, const struct arrays *arrays,
                const float *source, bool transposed)
{
    const rotary_dtype type = (rotary_dtype)asked->type;
    const struct panel_shape panel_shape = {.dtype = type,
                                            .inner = INNER,
                                            .columns = COLUMNS,
                                            .transposed = transposed,
                                            .source_row = transposed ? INNER : STRIDE};
    struct panel_plan *plan = NULL;
    struct panel *panel = NULL;
    const struct gemm *gemm;
    struct gemm_shape shape = *asked;
    void *data = NULL;
    float made[ROWS * STRIDE];
    const bool bf16 = shape.destination_type == ROTARY_BF16;
    memcpy(made, bf16 ? (const void *)arrays->before_bf16 : arrays->before, sizeof made / (bf16 ? 2u : 1u));
    if (source) {
        shape.weights_row = GEMM_WEIGHT_PANEL;
        CHECK_INT(panel_plan_create(&plan, gemms, &panel_shape), 0);
        data = calloc(1, panel_plan_bytes(plan));
        CHECK_INT(panel_create(&panel, gemms, plan, data), 0);
        CHECK_INT(panel_fill(panel, gemms, 0, source), 0);
    }
    CHECK_INT(gemm_find(gemms, &gemm, &shape, plan), 0);
    const struct gemm_operands operands = {
        .source = type == ROTARY_BF16 ? (const void *)arrays->source_bf16 : arrays->source,
        .weights = type == ROTARY_BF16 ? (const void *)arrays->weights_bf16 : arrays->weights,
        .panel = panel,
        .bias = shape.bias ? arrays->bias : NULL,
        .destination = made};
    CHECK_INT(gemm_run(gemms, gemm, 0, &operands), 0);
    compare(&shape, arrays, made);
    panel_destroy(panel);
    panel_plan_destroy(plan);
    free(data);
}

static void transpose(const float *weights, float *to)
{
    for (int64_t k = 0; k < INNER; k++)
        for (int64_t column = 0; column < COLUMNS; column++)
            to[column * INNER + k] = weights[k * STRIDE + column];
}

static void try_all(struct gemms *gemms, const struct arrays *arrays)
{
    float transposed[COLUMNS * INNER];
    transpose(arrays->weights, transposed);
    for (int i = 0; i < 2 * 2 * 2 * 3 * 2; i++) {
        const bool across = i % 2;
        const struct gemm_shape shape = {.rows = ROWS,
                                         .columns = COLUMNS,
                                         .inner = INNER,
                                         .source_row = across ? 1 : STRIDE,
                                         .source_column = across ? ROWS : 1,
                                         .weights_row = STRIDE,
                                         .destination_row = STRIDE,
                                         .type = i / 2 % 2 ? ROTARY_BF16 : ROTARY_F32,
                                         .destination_type = i / 4 % 2 ? ROTARY_BF16 : ROTARY_F32,
                                         .epilogue = i / 8 % 3,
                                         .bias = i / 24};
        check_about("case %d", i);
        run(gemms, &shape, arrays, NULL, false);
        run(gemms, &shape, arrays, arrays->weights, false);
        run(gemms, &shape, arrays, transposed, true);
    }
}

int main(void)
{
    static struct arrays arrays;
    struct gemms *gemms = NULL;
    fill(arrays.source, arrays.source_bf16, ROWS * STRIDE, 1);
    fill(arrays.weights, arrays.weights_bf16, INNER * STRIDE, 2);
    fill(arrays.before, arrays.before_bf16, ROWS * STRIDE, 3);
    fill(arrays.bias, NULL, COLUMNS, 4);
    CHECK_INT(gemms_create(&gemms, 1, ROTARY_ISA_SCALAR, NULL), ROTARY_OK);
    try_all(gemms, &arrays);
    /* Plans are kept, each once, with and without panels; strips are none of theirs. */
    CHECK_INT(gemms_planned(gemms), 2 * 48);
    const struct gemm *gemm;
    const struct gemm_shape strips = {.weights_row = GEMM_VNNI, .type = ROTARY_BF16};
    CHECK_INT(gemm_probe(gemms, &strips), GEMM_UNSUPPORTED);
    CHECK(gemm_find(gemms, &gemm, &strips, NULL) != 0);
    gemms_destroy(gemms);
    return check_report();
}
