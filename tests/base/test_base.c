/* SPDX-License-Identifier: Apache-2.0
 *
 * The base module: random numbers against published vectors, half precision against the definition, arenas,
 * hash tables, threads.
 */
#include "support/check.h"

#include "base/arena.h"
#include "base/half.h"
#include "base/hash_table.h"
#include "base/random.h"

#include <math.h>
#include <rotary/types.h>
#include <stdlib.h>
#include <string.h>

/* Known answers from the Random123 distribution (kat_vectors, philox4x32 10). */
static void test_philox(void)
{
    static const struct {
        uint32_t counter[4], key[2], wanted[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        struct rotary_random_key key = {.seed = (uint64_t)known[i].key[1] << 32 | known[i].key[0],
                                        .stream = known[i].counter[2],
                                        .step = known[i].counter[3]};
        uint32_t words[4];
        rotary_random_block(key, (uint64_t)known[i].counter[1] << 32 | known[i].counter[0], words);
        for (int word = 0; word < 4; word++)
            CHECK_INT(words[word], known[i].wanted[word]);
    }
}

static void test_distributions(void)
{
    enum { N = 200000 };
    struct rotary_random_key key = {.seed = 7, .stream = ROTARY_STREAM_TEST};
    double mean = 0, square = 0, fourth = 0, uniform = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = (double)rotary_random_normal(key, i);
        mean += x / N;
        square += x * x / N;
        fourth += x * x * x * x / N;
        float u = rotary_random_uniform(key, i);
        if (!(u >= 0.0f && u < 1.0f))
            CHECK(u >= 0.0f && u < 1.0f);
        uniform += (double)u / N;
    }
    /* Five standard errors each. */
    CHECK_NEAR(mean, 0.0, 5.0 / sqrt(N));
    CHECK_NEAR(square, 1.0, 5.0 * sqrt(2.0 / N));
    CHECK_NEAR(fourth, 3.0, 5.0 * sqrt(96.0 / N));
    CHECK_NEAR(uniform, 0.5, 5.0 * sqrt(1.0 / 12.0 / N));
    for (uint64_t first = 0; first < 9; first++) {
        float many[23];
        rotary_random_uniforms(key, first, 23, many);
        for (uint64_t i = 0; i < 23; i++)
            CHECK_NEAR(many[i], rotary_random_uniform(key, first + i), 0.0);
    }
    int64_t counts[7] = {0};
    struct rotary_random random = {.key = key};
    for (int i = 0; i < N; i++) {
        uint32_t below = rotary_random_below(&random, 7);
        if (below < 7)
            counts[below]++;
    }
    int64_t total = 0;
    for (int i = 0; i < 7; i++) {
        CHECK_NEAR((double)counts[i], N / 7.0, 5.0 * sqrt(N / 7.0));
        total += counts[i];
    }
    CHECK_INT(total, N);
}

/* Every 16-bit pattern survives conversion to f32 and back; f32 values half way between two neighbours round
 * to the even one. */
static void test_half(void)
{
    int64_t wrong = 0, ties = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        float f16 = rotary_f16_to_float(half), bf16 = rotary_bf16_to_float(half);
        wrong += isnan(f16) ? !isnan(rotary_f16_to_float(rotary_f16_from_float(f16)))
                            : rotary_f16_from_float(f16) != half;
        wrong += isnan(bf16) ? !isnan(rotary_bf16_to_float(rotary_bf16_from_float(bf16)))
                             : rotary_bf16_from_float(bf16) != half;
        float next = rotary_f16_to_float((uint16_t)(half + 1));
        if ((bits & 0x7fff) < 0x7bff) {
            wrong += rotary_f16_from_float(0.5f * (f16 + next)) != (half & 1 ? half + 1 : half);
            wrong += fabsf(ldexpf((float)(bits & 0x3ff) + (bits & 0x7c00 ? 1024.0f : 0.0f),
                                  (int)(bits >> 10 & 31) - (bits & 0x7c00 ? 25 : 24))) != fabsf(f16);
            ties++;
        }
        next = rotary_bf16_to_float((uint16_t)(half + 1));
        if ((bits & 0x7fff) < 0x7f7f)
            wrong += rotary_bf16_from_float(0.5f * bf16 + 0.5f * next) != (half & 1 ? half + 1 : half);
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(ties, 2 * 0x7bff);
    CHECK_INT(rotary_f16_from_float(65519.0f), 0x7bff);
    CHECK_INT(rotary_f16_from_float(65520.0f), 0x7c00);
    CHECK_INT(rotary_f16_from_float(-INFINITY), 0xfc00);
    CHECK_INT(rotary_bf16_from_float(3.4e38f), 0x7f80);
}

/* An arena over memory of a known size: a push that does not fit fails. */
static void test_arena_over(void)
{
    _Alignas(64) static unsigned char memory[192];
    struct rotary_arena arena = rotary_arena_over(memory, 128);
    CHECK(rotary_arena_push(&arena, 1, 1) == memory);
    CHECK(!rotary_arena_push(&arena, 65, 1));
    CHECK(arena.used == SIZE_MAX);
    CHECK(!rotary_arena_push(&arena, 1, 1)); /* nothing after a failure, even where there is room */
    arena = rotary_arena_over(memory, 128);
    CHECK(rotary_arena_push(&arena, 2, 64) == memory && arena.used == 128);
    CHECK(rotary_arena_push(&arena, 0, 64) == memory + 128 && arena.used == 128);
    arena = rotary_arena_over(NULL, 0);
    CHECK(!rotary_arena_push(&arena, 1, 1));
}

static void test_arena(void)
{
    struct rotary_arena arena = {0};
    rotary_error error = {0};
    CHECK(!rotary_arena_push(&arena, 10, 4));
    CHECK(!rotary_arena_push(&arena, 100, 1));
    CHECK_INT((int64_t)arena.used, 64 + 128);
    CHECK_INT(rotary_arena_allocate(&arena, "a test", &error), ROTARY_OK);
    unsigned char *first = rotary_arena_push(&arena, 10, 4), *second = rotary_arena_push(&arena, 100, 1);
    CHECK(first && second == first + 64);
    CHECK_INT((int64_t)((uintptr_t)first % ROTARY_ALIGNMENT), 0);
    for (int i = 0; i < 64 + 128; i++)
        CHECK_INT(first[i], 0);
    memset(first, 1, 64 + 128);
    CHECK(arena.used == arena.capacity);
    CHECK(!rotary_arena_push(&arena, 1, 1));
    CHECK(arena.used == SIZE_MAX);
    CHECK(!rotary_arena_push(&arena, 0, 1)); /* a failure stays one */
    rotary_arena_free(&arena);
    CHECK(!rotary_arena_push(&arena, INT64_MAX, 4096));
    CHECK_INT(rotary_arena_allocate(&arena, "far too much", &error), ROTARY_OUT_OF_MEMORY);
    CHECK(strstr(error.message, "far too much") != NULL);
    rotary_arena_free(&arena);
}

static void test_isa(void)
{
    rotary_error error = {0};
    rotary_isa isa;
    CHECK_INT(rotary_isa_from_name(&isa, "avx2", &error), ROTARY_OK);
    CHECK_INT(isa, ROTARY_ISA_AVX2);
    CHECK_INT(rotary_isa_from_name(&isa, "mmx", &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "mmx") && strstr(error.message, "avx512"));
    CHECK(rotary_isa_available(ROTARY_ISA_SCALAR));
    unsetenv("ROTARY_ISA");
    CHECK(rotary_isa_available(rotary_isa_best()));
    setenv("ROTARY_ISA", "scalar", 1);
    CHECK_INT(rotary_isa_best(), ROTARY_ISA_SCALAR);
    unsetenv("ROTARY_ISA");
}

static void add(struct hash_table *table, uint32_t key, int32_t value)
{
    struct hash_slot *slot = hash_table_find(table, key);
    while (slot->value >= 0)
        slot = hash_table_next(table, slot);
    *slot = (struct hash_slot){key, value};
}

static uint32_t pair_key(int32_t i)
{
    return hash_table_key((uint64_t)(i / 40) << 32 | (uint64_t)(i % 40));
}

/* Keys of pairs of small numbers, such as tokens; each third key stands twice. */
static void check_keys(const struct hash_table *table, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const struct hash_slot *slot = hash_table_find(table, pair_key(i));
        int32_t sum = slot->value, found = 0;
        for (; slot->value >= 0; slot = hash_table_next(table, slot)) {
            CHECK(slot->value == i || slot->value == count + i);
            sum += found++ > 0 ? slot->value : 0;
        }
        CHECK_INT(found, i % 3 == 0 ? 2 : 1);
        CHECK_INT(sum, i % 3 == 0 ? count + 2 * i : i);
    }
    CHECK_INT(hash_table_find(table, 77777)->value, -1);
}

static void test_hash_table(void)
{
    enum { KEYS = 600 };
    struct hash_table table = {0};
    CHECK(rotary_hash_table_empty(&table, 1));
    for (int32_t i = 0; i < KEYS; i++) {
        CHECK(rotary_hash_table_grow(&table, 2 * i + 2));
        add(&table, pair_key(i), i);
        if (i % 3 == 0)
            add(&table, pair_key(i), KEYS + i);
    }
    check_keys(&table, KEYS);
    CHECK(table.slot_count >= 2 * (KEYS + KEYS / 3));
    const struct hash_slot *slots = table.slots;
    CHECK(rotary_hash_table_empty(&table, 5)); /* a smaller one in the same memory */
    CHECK(table.slots == slots && table.slot_count == 16);
    CHECK_INT(hash_table_find(&table, 0)->value, -1);
    rotary_hash_table_free(&table);
    rotary_hash_table_free(&table);
}

int main(void)
{
    test_hash_table();
    test_philox();
    test_distributions();
    test_half();
    test_arena();
    test_arena_over();
    test_isa();
    return check_report();
}
