/* SPDX-License-Identifier: Apache-2.0
 *
 * Context shift: shifted caches are those that appending the tokens that are left gives, in any layout, and
 * nothing else is written; refusals.
 */
#include "base/element.h"
#include "support/check.h"

#include <rotary/attention.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, HEADS = 4, SHARED = 2, DIM = 20, CAPACITY = 40, GAP = 3, VECTOR = DIM + GAP };
enum { CACHE = BATCH * CAPACITY * SHARED * VECTOR, TOKENS = BATCH * CAPACITY * SHARED * DIM };

static const int64_t lengths[BATCH] = {40, 17, 0}, keep[BATCH] = {3, 0, 0}, discard[BATCH] = {13, 5, 0};

struct scene {
    rotary_rope *rope;
    rotary_attention *attention;
    rotary_dtype dtype;
    bool head_major;
    void *key, *value;             /* [BATCH, CAPACITY, SHARED, DIM] of all tokens */
    void *key_cache, *value_cache; /* vectors have gaps between them */
    void *workspace;
};

static size_t size_of(const struct scene *s)
{
    return rotary_dtype_size(s->dtype);
}

static double element(const struct scene *s, const void *memory, int64_t at)
{
    return (double)rotary_element(memory, at, s->dtype);
}

/* Where the vector of a token and head is in a cache. */
static int64_t place(const struct scene *s, int64_t sequence, int64_t row, int64_t head)
{
    return (sequence * CAPACITY * SHARED + (s->head_major ? head * CAPACITY + row : row * SHARED + head)) *
           VECTOR;
}

static rotary_attention_view cache_view(const struct scene *s, void *cache)
{
    return (rotary_attention_view){cache, CAPACITY * SHARED * VECTOR,
                                   s->head_major ? VECTOR : SHARED * VECTOR,
                                   s->head_major ? CAPACITY * VECTOR : VECTOR};
}

static void *random_vectors(const struct scene *s, uint64_t seed)
{
    void *memory = malloc(TOKENS * size_of(s));
    for (int64_t i = 0; i < TOKENS; i++)
        rotary_set_element(memory, i, s->dtype, check_random(seed, (uint64_t)i, 2));
    return memory;
}

/* Appends `count` tokens of one sequence from token `first` on, at row `at`. */
static void append(const struct scene *s, void *key_cache, void *value_cache, int64_t sequence, int64_t first,
                   int64_t count, int64_t at)
{
    size_t before = (size_t)((sequence * CAPACITY + first) * SHARED * DIM) * size_of(s),
           cache = (size_t)place(s, sequence, 0, 0) * size_of(s);
    const rotary_attention_const_view key = {(const char *)s->key + before, TOKENS, SHARED * DIM, DIM},
                                      value = {(const char *)s->value + before, TOKENS, SHARED * DIM, DIM};
    rotary_attention_append_call call = {.struct_size = sizeof call,
                                         .batch = 1,
                                         .tokens = count,
                                         .capacity = CAPACITY,
                                         .lengths = &at,
                                         .key = key,
                                         .value = value,
                                         .key_cache = cache_view(s, (char *)key_cache + cache),
                                         .value_cache = cache_view(s, (char *)value_cache + cache),
                                         .workspace = s->workspace};
    CHECK_INT(rotary_attention_append(s->attention, &call, NULL), ROTARY_OK);
}

static rotary_attention_shift_call call_of(const struct scene *s)
{
    return (rotary_attention_shift_call){.struct_size = sizeof(rotary_attention_shift_call),
                                         .batch = BATCH,
                                         .capacity = CAPACITY,
                                         .lengths = lengths,
                                         .keep = keep,
                                         .discard = discard,
                                         .key_cache = cache_view(s, s->key_cache),
                                         .value_cache = cache_view(s, s->value_cache)};
}

static void compare(const struct scene *s, const void *got, const void *wanted, const void *before,
                    const char *what)
{
    double bound = s->dtype == ROTARY_F32 ? 4e-6 : s->dtype == ROTARY_F16 ? 2.5e-3 : 2e-2;
    check_about("%s, %s", what, rotary_dtype_name(s->dtype));
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t row = 0; row < CAPACITY; row++)
            for (int64_t head = 0; head < SHARED; head++) {
                int64_t at = place(s, b, row, head);
                bool moved = row >= keep[b] && row < lengths[b] - discard[b];
                for (int64_t i = 0; i < VECTOR && moved; i++) {
                    double w = element(s, wanted, at + i);
                    if (i < DIM) /* values of up to about 20; rotated twice instead of once */
                        CHECK_NEAR(element(s, got, at + i), w, bound * (w > 0 ? 1 + w : 1 - w));
                }
                /* Tokens that are kept, rows after the new length, and gaps, are as they were. */
                size_t bytes = (moved ? GAP : VECTOR) * size_of(s),
                       from = (size_t)(at + (moved ? DIM : 0)) * size_of(s);
                CHECK(memcmp((const char *)got + from, (const char *)before + from, bytes) == 0);
            }
}

static void fill_caches(struct scene *s)
{
    memset(s->key_cache, 0x3e, CACHE * size_of(s));
    memset(s->value_cache, 0x3e, CACHE * size_of(s));
    for (int64_t b = 0; b < BATCH; b++)
        append(s, s->key_cache, s->value_cache, b, 0, lengths[b], 0);
}

static void try_shift(struct scene *s)
{
    size_t bytes = CACHE * size_of(s);
    void *key = malloc(bytes), *value = malloc(bytes), *key_before = malloc(bytes),
         *value_before = malloc(bytes);
    memset(key, 0, bytes);
    memset(value, 0, bytes);
    for (int64_t b = 0; b < BATCH; b++) {
        int64_t after = keep[b] + discard[b];
        append(s, key, value, b, 0, keep[b], 0);
        append(s, key, value, b, after, lengths[b] - after, keep[b]);
    }
    fill_caches(s);
    memcpy(key_before, s->key_cache, bytes);
    memcpy(value_before, s->value_cache, bytes);
    const rotary_attention_shift_call call = call_of(s);
    CHECK_INT(rotary_attention_shift(s->attention, &call, NULL), ROTARY_OK);
    compare(s, s->key_cache, key, key_before, "keys");
    compare(s, s->value_cache, value, value_before, "values");
    free(key);
    free(value);
    free(key_before);
    free(value_before);
}

static void refuse(const struct scene *s, rotary_attention_shift_call call, const char *words)
{
    rotary_error error = {0};
    check_about("%s", words);
    CHECK_INT(rotary_attention_shift(s->attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
}

static void try_refusals(const struct scene *s)
{
    static const int64_t negative[BATCH] = {3, -1, 0}, many[BATCH] = {13, 18, 0},
                         long_one[BATCH] = {41, 17, 0};
    rotary_attention_shift_call call = call_of(s);
    call.keep = negative;
    refuse(s, call, "keep[1] is -1");
    call = call_of(s);
    call.discard = many;
    refuse(s, call, "keep[1] is 0 and discard[1] 18 of 17 tokens");
    call.discard = NULL;
    refuse(s, call, "discard is missing");
    call = call_of(s);
    call.lengths = long_one;
    refuse(s, call, "lengths[0] is 41 in a cache of 40");
    call = call_of(s);
    call.value_cache.data = NULL;
    refuse(s, call, "value_cache has no data");
    call = call_of(s);
    call.struct_size = 5;
    refuse(s, call, "struct_size is 5");
}

/* `rotate` is that of the plan, which has a rotation of all. */
static void try_scene(rotary_dtype dtype, bool head_major, unsigned rotate, int threads)
{
    struct scene s = {.dtype = dtype, .head_major = head_major};
    rotary_rope_config rope;
    rotary_attention_config config;
    rotary_error error = {0};
    rotary_rope_config_default(&rope);
    rope.head_dim = DIM;
    rope.rotary_dim = 16;
    rope.threads = threads;
    CHECK_INT(rotary_rope_create(&s.rope, &rope, &error), ROTARY_OK);
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = DIM;
    config.dtype = dtype;
    config.threads = threads;
    config.causal = true;
    config.rope = config.value_rope = rotate ? s.rope : NULL;
    config.rotate = rotate;
    if (!CHECK_INT(rotary_attention_create(&s.attention, &config, &error), ROTARY_OK))
        printf("%s\n", error.message);
    s.key = random_vectors(&s, 1);
    s.value = random_vectors(&s, 2);
    s.key_cache = malloc(CACHE * size_of(&s));
    s.value_cache = malloc(CACHE * size_of(&s));
    s.workspace =
        aligned_alloc(64, (rotary_attention_append_bytes(s.attention, BATCH, CAPACITY) + 64 + 63) / 64 * 64);
    try_shift(&s);
    if (dtype == ROTARY_F32) {
        fill_caches(&s);
        try_refusals(&s);
    }
    free(s.key);
    free(s.value);
    free(s.key_cache);
    free(s.value_cache);
    free(s.workspace);
    rotary_attention_destroy(s.attention);
    rotary_rope_destroy(s.rope);
}

int main(void)
{
    for (unsigned rotate = 0; rotate < 16; rotate++) {
        bool head_major = rotate % 3 == 1;
        try_scene(ROTARY_F32, head_major, rotate, 1 + (int)rotate % 3);
        try_scene(ROTARY_BF16, !head_major, rotate, 2);
#ifndef TESTS_WITHOUT_F16
        try_scene(ROTARY_F16, head_major, rotate, 3);
#endif
    }
    return check_report();
}
