/* SPDX-License-Identifier: Apache-2.0
 *
 * One row times a packed weight: a step of generation reads each weight for one multiplication, and is as
 * fast as memory gives them. Products are added up as oneDNN adds those of several rows
 * (backend/sum_order.c), so that a row has the same bits alone.
 */
#include "base/integer.h"
#include "kernel/layer/layer_variant.h"

#if LANES == 16

/* A step takes 32 bits of the row, a number of f32 or a pair of bf16, and STEP_BYTES of a strip. */
enum {
    STRIP = LAYER_VNNI_COLUMNS, /* columns that are summed up together */
    VECTORS = STRIP / LANES,
    STEP_BYTES = STRIP * (int)sizeof(float),
    MULTIPLE_STEPS = LAYER_VNNI_ROWS / 2, /* of a strip */
    PREFETCH_STEPS = 24                   /* hardware does not prefetch beyond a page */
};

INLINE int64_t values_of_step(rotary_dtype dtype)
{
    return dtype == ROTARY_BF16 ? 2 : 1;
}

INLINE vfloat add_product(rotary_dtype dtype, vint weights, vint factor, vfloat sum)
{
#if defined(__AVX512BF16__)
    if (dtype == ROTARY_BF16)
        return v_add_pairs(weights, factor, sum);
#endif
    (void)dtype;
    return v_fma((vfloat)weights, (vfloat)factor, sum);
}

INLINE void add_step(rotary_dtype dtype, vfloat sums[VECTORS], int32_t value, const char *weights)
{
    for (int i = 0; i < VECTORS; i++) {
        vint vector;
        memcpy(&vector, weights + i * (int)sizeof vector, sizeof vector);
        sums[i] = add_product(dtype, vector, (vint){0} + value, sums[i]);
        __builtin_prefetch(weights + i * (int)sizeof vector + PREFETCH_STEPS * STEP_BYTES);
    }
}

static void store_strip(const struct layer_row *work, int64_t column, const vfloat sums[VECTORS])
{
    for (int i = 0; i < VECTORS && column < work->columns; i++, column += LANES) {
        int64_t lanes = remaining_lanes(column, work->columns);
        vfloat sum = sums[i];
        if (work->bias)
            sum = sum + load_f32(work->bias, column, lanes);
        if (work->relu)
            sum = v_max(sum, (vfloat){0});
        store(work->out_type, work->out, column, sum, lanes);
    }
}

/* The sums of the products of rows begin ... end - 1 of a strip. */
INLINE void sum_block(const struct layer_row *work, rotary_dtype dtype, const char *strip, int64_t begin,
                      int64_t end, vfloat sums[VECTORS])
{
    const int64_t values = values_of_step(dtype);
    const char *in = (const char *)work->in + begin / values * (int64_t)sizeof(int32_t),
               *weights = strip + begin / values * STEP_BYTES;
    int32_t value = 0;
    for (int i = 0; i < VECTORS; i++)
        sums[i] = (vfloat){0};
    for (; begin + values <= end; begin += values, in += sizeof value, weights += STEP_BYTES) {
        memcpy(&value, in, sizeof value);
        add_step(dtype, sums, value, weights);
    }
    /* The last of an odd number of elements has a zero beside it. */
    if (begin < end) {
        uint16_t last;
        memcpy(&last, in, sizeof last);
        add_step(dtype, sums, last, weights);
    }
}

INLINE void multiply_row(const struct layer_row *work, rotary_dtype dtype)
{
    const int64_t steps = round_up(divide_up(work->inner, values_of_step(dtype)), MULTIPLE_STEPS);
    for (int64_t column = 0; column < work->columns; column += STRIP) {
        const char *strip = (const char *)work->panel + column / STRIP * steps * STEP_BYTES;
        vfloat sums[VECTORS], next[VECTORS];
        sum_block(work, dtype, strip, 0, min_i64(work->block, work->inner), sums);
        for (int64_t row = work->block; row < work->inner; row += work->block) {
            sum_block(work, dtype, strip, row, min_i64(row + work->block, work->inner), next);
            for (int i = 0; i < VECTORS; i++)
                sums[i] = sums[i] + next[i];
        }
        store_strip(work, column, sums);
    }
}

void ROTARY_KERNEL(layer_multiply_row_f32)(const struct layer_row *work)
{
    multiply_row(work, ROTARY_F32);
}

#if defined(__AVX512BF16__)
void ROTARY_KERNEL(layer_multiply_row_bf16)(const struct layer_row *work)
{
    multiply_row(work, ROTARY_BF16);
}
#endif
#endif
