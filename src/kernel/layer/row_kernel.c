/* SPDX-License-Identifier: Apache-2.0
 *
 * One row times a packed weight of bf16: a step of generation reads each weight for one multiplication, and
 * is as fast as memory gives them. Products are added up as oneDNN adds those of several rows
 * (backend/sum_order.c), so that a row has the same bits alone.
 */
#include "base/integer.h"
#include "kernel/layer/layer_variant.h"

#if defined(__AVX512BF16__)

enum {
    STRIP = LAYER_VNNI_COLUMNS, /* columns that are summed up together */
    VECTORS = STRIP / LANES,
    PAIR_BYTES = 2 * STRIP * (int)sizeof(uint16_t), /* of a pair of rows of a strip */
    PREFETCH_PAIRS = 24                             /* hardware does not prefetch beyond a page */
};

INLINE void add_pair(vfloat sums[VECTORS], vint factor, const uint16_t *weights)
{
    for (int i = 0; i < VECTORS; i++) {
        vint pairs;
        memcpy(&pairs, weights + 2 * LANES * i, sizeof pairs);
        sums[i] = v_add_pairs(pairs, factor, sums[i]);
        __builtin_prefetch((const char *)(weights + 2 * LANES * i) + PREFETCH_PAIRS * PAIR_BYTES);
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
INLINE void sum_block(const struct layer_row *work, const uint16_t *strip, int64_t begin, int64_t end,
                      vfloat sums[VECTORS])
{
    const uint16_t *weights = strip + begin * STRIP;
    int32_t both;
    for (int i = 0; i < VECTORS; i++)
        sums[i] = (vfloat){0};
    for (; begin + 1 < end; begin += 2, weights += 2 * STRIP) {
        memcpy(&both, work->in + begin, sizeof both);
        add_pair(sums, (vint){0} + both, weights);
    }
    /* The last of an odd number of elements has a zero beside it. */
    if (begin < end)
        add_pair(sums, (vint){0} + (int32_t)work->in[begin], weights);
}

void ROTARY_KERNEL(layer_multiply_row)(const struct layer_row *work)
{
    int64_t padded = round_up(work->inner, LAYER_VNNI_ROWS);
    for (int64_t column = 0; column < work->columns; column += STRIP) {
        const uint16_t *strip = work->panel + column * padded;
        vfloat sums[VECTORS], next[VECTORS];
        sum_block(work, strip, 0, min_i64(work->block, work->inner), sums);
        for (int64_t row = work->block; row < work->inner; row += work->block) {
            sum_block(work, strip, row, min_i64(row + work->block, work->inner), next);
            for (int i = 0; i < VECTORS; i++)
                sums[i] = sums[i] + next[i];
        }
        store_strip(work, column, sums);
    }
}
#endif
