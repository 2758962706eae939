/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/fill.h"

#include "base/half.h"
#include "base/random.h"
#include "base/threads.h"

enum { PIECE = 1 << 14 };

struct filling {
    void *data;
    rotary_dtype dtype;
    int64_t count;
    struct rotary_random_key key;
};

static void fill_piece(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct filling *filling = argument;
    int64_t end = (index + 1) * PIECE < filling->count ? (index + 1) * PIECE : filling->count;
    for (int64_t i = index * PIECE; i < end; i++) {
        float value = rotary_random_normal(filling->key, (uint64_t)i);
        if (filling->dtype == ROTARY_BF16)
            ((uint16_t *)filling->data)[i] = rotary_bf16_from_float(value);
        else
            ((float *)filling->data)[i] = value;
    }
}

void benchmark_fill(void *data, rotary_dtype dtype, int64_t count, uint64_t seed)
{
    struct filling filling = {
        .data = data, .dtype = dtype, .count = count, .key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    rotary_parallel_for(0, (count + PIECE - 1) / PIECE, fill_piece, &filling);
}
