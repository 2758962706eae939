/* SPDX-License-Identifier: Apache-2.0
 *
 * One row times a packed weight: a step of generation reads each weight for one multiplication, and is as
 * fast as memory gives them. Products are added up as oneDNN adds those of several rows
 * (backend/sum_order.c), so that a row has the same bits alone.
 */
#include "base/integer.h"
#include "kernel/layer/layer_variant.h"
#include "kernel/prefetch.h"

#if LANES == 16

/* A step takes 32 bits of the row, a number of f32 or a pair of bf16, and STEP_BYTES of a strip. */
enum {
    STRIP = LAYER_VNNI_COLUMNS, /* columns that are summed up together */
    VECTORS = STRIP / LANES,
    STEP_BYTES = STRIP * (int)sizeof(float),
    MULTIPLE_STEPS = LAYER_VNNI_ROWS / 2 /* of a strip */
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

/* The sums of a strip; `odd`, of the odd rows, where these are summed up apart (struct layer_sum_order). */
struct strip_sums {
    vfloat all[VECTORS], odd[VECTORS];
};

INLINE void add_step(rotary_dtype dtype, bool apart, struct strip_sums *sums, int32_t value,
                     const char *weights)
{
    /* The first of a pair of bf16 is the low half of 32 bits; each is the high half of an f32. */
    const vint factor = (vint){0} + value, high = (vint){0} + (int32_t)0xffff0000;
    for (int i = 0; i < VECTORS; i++) {
        vint vector;
        memcpy(&vector, weights + i * (int)sizeof vector, sizeof vector);
        if (apart) {
            sums->all[i] = v_fma((vfloat)(vector << 16), (vfloat)(factor << 16), sums->all[i]);
            sums->odd[i] = v_fma((vfloat)(vector & high), (vfloat)(factor & high), sums->odd[i]);
        } else
            sums->all[i] = add_product(dtype, vector, factor, sums->all[i]);
        prefetch_line(weights + i * (int)sizeof vector + PREFETCH_BYTES);
    }
    prefetch_pages(weights + PREFETCH_BYTES, STEP_BYTES);
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
INLINE struct strip_sums sum_block(const struct layer_row *work, rotary_dtype dtype, bool apart,
                                   const char *strip, int64_t begin, int64_t end)
{
    const int64_t values = values_of_step(dtype);
    const char *in = (const char *)work->in + begin / values * (int64_t)sizeof(int32_t),
               *weights = strip + begin / values * STEP_BYTES;
    struct strip_sums sums = {0};
    int32_t value = 0;
    for (; begin + values <= end; begin += values, in += sizeof value, weights += STEP_BYTES) {
        memcpy(&value, in, sizeof value);
        add_step(dtype, apart, &sums, value, weights);
    }
    /* The last of an odd number of elements has a zero beside it. */
    if (begin < end) {
        uint16_t last;
        memcpy(&last, in, sizeof last);
        add_step(dtype, apart, &sums, last, weights);
    }
    for (int i = 0; i < VECTORS && apart; i++)
        sums.all[i] = sums.all[i] + sums.odd[i];
    return sums;
}

INLINE void multiply_row(const struct layer_row *work, rotary_dtype dtype, bool apart)
{
    const int64_t block = work->order.block;
    const int64_t steps = round_up(divide_up(work->inner, values_of_step(dtype)), MULTIPLE_STEPS);
    for (int64_t column = 0; column < work->columns; column += STRIP) {
        const char *strip = (const char *)work->panel + column / STRIP * steps * STEP_BYTES;
        struct strip_sums sums = sum_block(work, dtype, apart, strip, 0, min_i64(block, work->inner));
        for (int64_t row = block; row < work->inner; row += block) {
            const struct strip_sums next =
                sum_block(work, dtype, apart, strip, row, min_i64(row + block, work->inner));
            for (int i = 0; i < VECTORS; i++)
                sums.all[i] = sums.all[i] + next.all[i];
        }
        store_strip(work, column, sums.all);
    }
}

void ROTARY_KERNEL(layer_multiply_row_f32)(const struct layer_row *work)
{
    multiply_row(work, ROTARY_F32, false);
}

#if defined(__AVX512BF16__)
void ROTARY_KERNEL(layer_multiply_row_bf16)(const struct layer_row *work)
{
    if (work->order.apart)
        multiply_row(work, ROTARY_BF16, true);
    else
        multiply_row(work, ROTARY_BF16, false);
}
#endif
#endif
