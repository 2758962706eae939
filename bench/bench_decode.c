/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding over caches that no processor cache holds: how fast keys and values are read, beside a plain read
 * of the same memory by as many threads, which only adds it up. The two are measured by turns.
 *
 *     bench_decode [isa] [threads] [seconds a measurement] [dtype batch heads key_value_heads head_dim length
 *                  queries]
 */
#include <rotary/attention.h>

#include "base/clock.h"
#include "base/half.h"
#include "base/random.h"
#include "base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    rotary_dtype dtype;
    int64_t batch, heads, key_value_heads, head_dim, length, queries;
};

static const struct shape shapes[] = {
    {ROTARY_BF16, 1, 8, 8, 128, 32768, 1},   {ROTARY_BF16, 1, 8, 8, 128, 131072, 1},
    {ROTARY_F32, 1, 8, 8, 128, 32768, 1},    {ROTARY_F32, 1, 8, 8, 128, 131072, 1},
    {ROTARY_BF16, 64, 8, 8, 128, 1024, 1},   {ROTARY_F32, 64, 8, 8, 128, 1024, 1},
    {ROTARY_BF16, 1, 32, 8, 128, 131072, 1}, {ROTARY_BF16, 1, 1, 1, 128, 524288, 1},
};

static void check(rotary_status status, const rotary_error *error)
{
    if (status) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

static void *memory(size_t bytes)
{
    void *made = NULL;
    if (posix_memalign(&made, 64, bytes ? bytes : 1))
        exit(1);
    memset(made, 0, bytes);
    return made;
}

/* Random numbers that repeat, so that gigabytes take seconds. */
static void *random_tensor(rotary_dtype dtype, int64_t count, uint64_t seed)
{
    enum { PERIOD = 1 << 16 };
    struct rotary_random_key key = {.seed = seed, .stream = ROTARY_STREAM_TEST};
    size_t size = rotary_dtype_size(dtype);
    char *made = memory((size_t)count * size);
    for (int64_t i = 0; i < count && i < PERIOD; i++) {
        float value = rotary_random_normal(key, (uint64_t)i);
        if (dtype == ROTARY_BF16)
            ((uint16_t *)(void *)made)[i] = rotary_bf16_from_float(value);
        else
            ((float *)(void *)made)[i] = value;
    }
    for (int64_t i = PERIOD; i < count; i += PERIOD)
        memcpy(made + (size_t)i * size, made, (size_t)(count - i < PERIOD ? count - i : PERIOD) * size);
    return made;
}

enum { CHUNK = 1 << 16 }; /* words of 8 bytes */
struct reading {
    const uint64_t *words;
    int64_t count;
    uint64_t sums[1024]; /* of a worker; 8 apart */
};

static void read_chunk(void *argument, int64_t index, int worker)
{
    struct reading *reading = argument;
    const uint64_t *from = reading->words + index * CHUNK;
    int64_t count = reading->count - index * CHUNK < CHUNK ? reading->count - index * CHUNK : CHUNK;
    uint64_t sums[16] = {0};
    for (int64_t i = 0; i + 16 <= count; i += 16)
        for (int lane = 0; lane < 16; lane++)
            sums[lane] += from[i + lane];
    for (int lane = 0; lane < 16; lane++)
        reading->sums[worker % 128 * 8] += sums[lane];
}

static uint64_t read_all(const void *data, size_t bytes, int threads)
{
    struct reading reading = {.words = data, .count = (int64_t)(bytes / 8)};
    rotary_parallel_for(threads, (reading.count + CHUNK - 1) / CHUNK, read_chunk, &reading);
    uint64_t sum = 0;
    for (int i = 0; i < 1024; i++)
        sum += reading.sums[i];
    return sum;
}

static void measure(struct shape s, rotary_isa isa, int threads, double seconds)
{
    rotary_error error = {0};
    rotary_rope *rope;
    rotary_rope_config rope_config;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = s.head_dim;
    check(rotary_rope_create(&rope, &rope_config, &error), &error);
    rotary_attention *attention;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = s.heads;
    config.key_value_heads = s.key_value_heads;
    config.head_dim = s.head_dim;
    config.dtype = s.dtype;
    config.causal = true;
    config.rope = rope;
    config.threads = threads;
    config.isa = isa;
    check(rotary_attention_create(&attention, &config, &error), &error);
    int64_t capacity = s.length + s.queries, token = s.key_value_heads * s.head_dim;
    int64_t query_token = s.heads * s.head_dim;
    size_t size = rotary_dtype_size(s.dtype), cache_bytes = (size_t)(s.batch * capacity * token) * size;
    void *keys = random_tensor(s.dtype, s.batch * capacity * token, 1);
    void *values = random_tensor(s.dtype, s.batch * capacity * token, 2);
    void *query = random_tensor(s.dtype, s.batch * s.queries * query_token, 3);
    void *key = random_tensor(s.dtype, s.batch * s.queries * token, 4);
    void *output = memory((size_t)(s.batch * s.queries * query_token) * size);
    void *workspace = memory(rotary_attention_decode_bytes(attention, s.batch, s.queries, capacity));
    int64_t *lengths = memory((size_t)s.batch * sizeof *lengths);
    for (int64_t b = 0; b < s.batch; b++)
        lengths[b] = s.length;
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = s.batch,
        .queries = s.queries,
        .capacity = capacity,
        .lengths = lengths,
        .query = {query, s.queries * query_token, query_token, s.head_dim},
        .key = {key, s.queries * token, token, s.head_dim},
        .value = {key, s.queries * token, token, s.head_dim},
        .key_cache = {keys, capacity * token, token, s.head_dim},
        .value_cache = {values, capacity * token, token, s.head_dim},
        .output = {output, s.queries * query_token, query_token, s.head_dim},
        .workspace = workspace,
    };
    double least[2] = {1e9, 1e9};
    volatile uint64_t sum = 0;
    for (double begin = rotary_clock(); rotary_clock() - begin < seconds;) {
        double start = rotary_clock();
        sum += read_all(keys, cache_bytes, threads);
        sum += read_all(values, cache_bytes, threads);
        double middle = rotary_clock();
        check(rotary_attention_decode(attention, &call, &error), &error);
        double end = rotary_clock();
        least[0] = middle - start < least[0] ? middle - start : least[0];
        least[1] = end - middle < least[1] ? end - middle : least[1];
    }
    double bytes = 2 * (double)cache_bytes;
    printf("%-5s%6lld%6lld /%3lld%6lld%9lld%9lld%10.2f%8.1f%8.1f%8.2f\n", rotary_dtype_name(s.dtype),
           (long long)s.batch, (long long)s.heads, (long long)s.key_value_heads, (long long)s.head_dim,
           (long long)s.length, (long long)s.queries, least[1] * 1e3, bytes / least[0] * 1e-9,
           bytes / least[1] * 1e-9, least[0] / least[1]);
    fflush(stdout);
    void *all[] = {keys, values, query, key, output, workspace, lengths};
    for (int i = 0; i < 7; i++)
        free(all[i]);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
}

int main(int argc, char **argv)
{
    rotary_isa isa = ROTARY_ISA_AUTO;
    rotary_error error = {0};
    if (argc > 1)
        check(rotary_isa_from_name(&isa, argv[1], &error), &error);
    int threads = argc > 2 ? atoi(argv[2]) : 0;
    double seconds = argc > 3 ? atof(argv[3]) : 2;
    printf("%s, GB/s\n%-5s%6s%11s%6s%9s%9s%10s%8s%8s%8s\n", rotary_isa_name(isa ? isa : rotary_isa_best()),
           "type", "batch", "heads", "size", "length", "queries", "ms", "read", "decode", "ratio");
    if (argc > 10) {
        struct shape s = {strcmp(argv[4], "f32") == 0 ? ROTARY_F32 : ROTARY_BF16,
                          atoll(argv[5]),
                          atoll(argv[6]),
                          atoll(argv[7]),
                          atoll(argv[8]),
                          atoll(argv[9]),
                          atoll(argv[10])};
        measure(s, isa, threads, seconds);
        return 0;
    }
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        measure(shapes[i], isa, threads, seconds);
    return 0;
}
