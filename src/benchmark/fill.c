/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/fill.h"

#include "base/half.h"
#include "base/integer.h"
#include "base/random.h"
#include "base/threads.h"

enum { BLOCK = 1 << 14 };

struct fill_job {
    void *data;
    rotary_dtype dtype;
    int64_t count;
    struct rotary_random_key key;
};

static void fill_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct fill_job *job = argument;
    int64_t end = (index + 1) * BLOCK < job->count ? (index + 1) * BLOCK : job->count;
    for (int64_t i = index * BLOCK; i < end; i++) {
        float value = rotary_random_normal(job->key, (uint64_t)i);
        if (job->dtype == ROTARY_BF16)
            ((uint16_t *)job->data)[i] = rotary_bf16_from_float(value);
        else
            ((float *)job->data)[i] = value;
    }
}

void benchmark_fill(void *data, rotary_dtype dtype, int64_t count, uint64_t seed)
{
    struct fill_job job = {
        .data = data, .dtype = dtype, .count = count, .key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    rotary_parallel_for(0, divide_up(count, BLOCK), fill_block, &job);
}
