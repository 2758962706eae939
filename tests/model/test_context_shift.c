/* SPDX-License-Identifier: Apache-2.0
 *
 * Context shift. In a model of one layer, keys and values of a token depend on the token and its position
 * alone: a shifted cache is then the cache of the tokens that are left, computed anew. In a deeper model they
 * also have what the layers below saw; there two backends are compared that share no code.
 */
#include "backend/reference_backend.h"
#include "model/model_keys.h"
#include "support/check.h"

#include "base/random.h"
#include "layer/encoding/encoding.h"
#include "layer/sublayer.h"
#include "model/generation/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 13, TIME = 24, KEEP = 3, DISCARD = 8, ODD_DISCARD = 7, NEW = 4, CAPACITY = 24 };

/* A model's encoding, and whether its keys are its values. */
struct attends {
    enum position position;
    enum key_is_value key_is_value;
};

static struct transformer *create(const struct backend *backend, struct attends attends, int64_t layers)
{
    const enum position position = attends.position;
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = layers;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.max_position_embeddings = 64;
    config.position = (int)position;
    config.key_is_value = (int)attends.key_is_value;
    if (position == POSITION_CUSTOM) /* rotations and terms by distance at once */
        model_assign(&config, "position="
                              "{\"name\":\"own\",\"rotate\":[\"query\",\"key\",\"value\"],"
                              "\"bias\":\"w * cos(distance + head)\",\"learned\":{\"w\":0.5}}");
    config.initializer_range = 0.5;
    config.initialisation = 1;
    const struct transformer_limits limits = {.batch = 2, .time = 32};
    struct transformer *transformer;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 4, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

static void fill(int32_t tokens[2][TIME + NEW])
{
    struct rotary_random random = {.key = {.seed = 17, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < 2 * (TIME + NEW); i++)
        tokens[i / (TIME + NEW)][i % (TIME + NEW)] = (int32_t)rotary_random_below(&random, VOCABULARY);
}

/* Fills the caches of two sequences, shifts the second, and decodes NEW tokens one by one. */
static void decode_shifted(struct transformer *transformer, int64_t discard,
                           float logits[NEW][2 * VOCABULARY])
{
    int32_t tokens[2][TIME + NEW];
    rotary_error error = {0};
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = 2, .capacity = TIME + NEW};
    fill(tokens);
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    int32_t prompts[2 * TIME];
    for (int b = 0; b < 2; b++)
        memcpy(prompts + b * TIME, tokens[b], TIME * sizeof *prompts);
    const struct transformer_decode_call prefill = {.time = TIME, .tokens = prompts, .logits = logits[0]};
    CHECK_INT(transformer_decode(transformer, cache, &prefill, &error), ROTARY_OK);
    if (!CHECK_INT(transformer_cache_shift(transformer, cache, 1, KEEP, discard, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_INT(transformer_cache_length(cache, 0), TIME);
    CHECK_INT(transformer_cache_length(cache, 1), TIME - discard);
    for (int i = 0; i < NEW; i++) {
        const int32_t next[2] = {tokens[0][TIME + i], tokens[1][TIME + i]};
        const struct transformer_decode_call call = {.time = 1, .tokens = next, .logits = logits[i]};
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
    }
    transformer_cache_destroy(cache);
}

/* Logits after the tokens that are left of sequence `b` and i + 1 new ones, without a cache. */
static void compare_anew(struct transformer *transformer, int b, int64_t discard,
                         float logits[NEW][2 * VOCABULARY], double bound)
{
    int32_t tokens[2][TIME + NEW], left[TIME + NEW];
    const int64_t count = TIME + NEW - discard;
    static float all[(TIME + NEW) * VOCABULARY];
    fill(tokens);
    memcpy(left, tokens[b], KEEP * sizeof *left);
    memcpy(left + KEEP, tokens[b] + KEEP + discard, (size_t)(count - KEEP) * sizeof *left);
    const struct batch batch = {.input = {.batch = 1, .time = count, .tokens = left}};
    CHECK_INT(transformer_logits(transformer, &batch, all, NULL), ROTARY_OK);
    for (int64_t i = 0; i < NEW; i++)
        for (int64_t v = 0; v < VOCABULARY; v++)
            CHECK_NEAR((double)logits[i][b * VOCABULARY + v], (double)all[(count - NEW + i) * VOCABULARY + v],
                       bound);
}

static void test_one_layer(const struct backend *backend, struct attends attends, int64_t discard,
                           double bound)
{
    check_about("%s, %s, key_is_value %d, one layer, %d tokens leave", backend->operations->name,
                attends.position == POSITION_CUSTOM ? "own" : position_names[attends.position],
                (int)attends.key_is_value, (int)discard);
    float logits[NEW][2 * VOCABULARY];
    struct transformer *transformer = create(backend, attends, 1);
    decode_shifted(transformer, discard, logits);
    compare_anew(transformer, 0, 0, logits, bound);
    compare_anew(transformer, 1, discard, logits, bound);
    transformer_destroy(transformer);
}

static void test_backends(const struct backend *cpu, const struct backend *reference, struct attends attends)
{
    float got[NEW][2 * VOCABULARY], wanted[NEW][2 * VOCABULARY];
    struct transformer *transformer = create(cpu, attends, 3), *other = create(reference, attends, 3);
    check_about("%s, key_is_value %d, three layers", position_names[attends.position],
                (int)attends.key_is_value);
    decode_shifted(transformer, ODD_DISCARD, got);
    decode_shifted(other, ODD_DISCARD, wanted);
    for (int i = 0; i < NEW; i++)
        for (int v = 0; v < 2 * VOCABULARY; v++)
            CHECK_NEAR((double)got[i][v], (double)wanted[i][v], 2e-4);
    transformer_destroy(transformer);
    transformer_destroy(other);
}

/* Positions that are in the embedding, or drawn, cannot be shifted. */
static void test_refusals(const struct backend *backend)
{
    static const enum position added[] = {POSITION_LEARNED, POSITION_SINUSOIDAL};
    rotary_error error = {0};
    for (int i = 0; i < 2; i++) {
        check_about("%s", position_names[added[i]]);
        struct transformer *transformer = create(backend, (struct attends){.position = added[i]}, 1);
        CHECK_INT(transformer_check_shift(transformer, &error), ROTARY_UNSUPPORTED);
        CHECK(strstr(error.message, "adds positions to its embedding") != NULL);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
    struct transformer *transformer = create(backend, (struct attends){.position = POSITION_ROPE}, 1);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = 1, .capacity = 4};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, NULL), ROTARY_OK);
    const int32_t tokens[3] = {1, 2, 3};
    float logits[VOCABULARY];
    const struct transformer_decode_call call = {.time = 3, .tokens = tokens, .logits = logits};
    CHECK_INT(transformer_decode(transformer, cache, &call, NULL), ROTARY_OK);
    static const int64_t refused[][2] = {{-1, 1}, {0, 4}, {2, 2}, {1, -1}, {4, 0}};
    for (int i = 0; i < 5; i++)
        CHECK_INT(transformer_cache_shift(transformer, cache, 0, refused[i][0], refused[i][1], &error),
                  ROTARY_INVALID_ARGUMENT);
    CHECK_INT(transformer_cache_shift(transformer, cache, 1, 0, 1, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(transformer_cache_shift(transformer, cache, 0, 2, 1, &error), ROTARY_OK);
    CHECK_INT(transformer_cache_length(cache, 0), 2);
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
}

enum { MAX_NEW = 60, PROMPT = 20 };

/* The text that one generates by shifting a context by hand: from the tokens that are left, anew each time.
 */
static void generate_anew(struct transformer *transformer, const int32_t *prompt, int64_t length,
                          const struct generate_config *config, int32_t *out)
{
    int32_t left[CAPACITY + PROMPT + MAX_NEW], all[PROMPT + MAX_NEW];
    static float logits[32 * VOCABULARY];
    int64_t count = 0, read = 0;
    memcpy(all, prompt, (size_t)length * sizeof *all);
    for (int64_t i = 0; i < MAX_NEW; i++) {
        for (; read < length + i; read++) {
            int64_t discard = (config->context - config->keep) / 2;
            if (count == config->context) {
                memmove(left + config->keep, left + config->keep + discard,
                        (size_t)(count - config->keep - discard) * sizeof *left);
                count -= discard;
            }
            left[count++] = all[read];
        }
        const struct batch batch = {.input = {.batch = 1, .time = count, .tokens = left}};
        CHECK_INT(transformer_logits(transformer, &batch, logits, NULL), ROTARY_OK);
        const float *last = logits + (count - 1) * VOCABULARY;
        int32_t best = 0;
        for (int32_t v = 1; v < VOCABULARY; v++)
            if (last[v] > last[best])
                best = v;
        all[length + i] = out[i] = best;
    }
}

/* Generation beyond the context, of prompts shorter and longer than it. */
static void test_generation(const struct backend *backend, enum position position)
{
    /* Half of what may leave is a whole number of tokens, or is not. */
    static const int64_t contexts[][2] = {{16, 0}, {16, 4}, {15, 0}, {16, 3}, {5, 2}, {3, 0}};
    struct transformer *transformer = create(backend, (struct attends){.position = position}, 1);
    int32_t tokens[2][TIME + NEW], out[2][MAX_NEW], wanted[MAX_NEW];
    fill(tokens);
    const int32_t *prompts[] = {tokens[0], tokens[1]};
    int32_t *outputs[] = {out[0], out[1]};
    const int64_t lengths[] = {PROMPT, 7};
    for (size_t k = 0; k < sizeof contexts / sizeof *contexts; k++) {
        int64_t generated[2];
        const struct generate_config config = {
            .max_new_tokens = MAX_NEW, .stop = -1, .context = contexts[k][0], .keep = contexts[k][1]};
        const struct generate_call call = {
            .count = 2, .prompts = prompts, .lengths = lengths, .outputs = outputs, .generated = generated};
        rotary_error error = {0};
        check_about("%s, a context of %d, the first %d are kept", position_names[position],
                    (int)contexts[k][0], (int)contexts[k][1]);
        if (!CHECK_INT(generation_run(transformer, &config, &call, &error), ROTARY_OK))
            printf("%s\n", error.message);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(generated[i], MAX_NEW);
            generate_anew(transformer, prompts[i], lengths[i], &config, wanted);
            for (int t = 0; t < MAX_NEW; t++)
                CHECK_INT(out[i][t], wanted[t]);
        }
        struct generate_config refused = config;
        refused.context = 16;
        refused.keep = 15;
        CHECK_INT(generation_run(transformer, &refused, &call, &error), ROTARY_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "a context of 16 tokens that keeps the first 15") != NULL);
        refused = config;
        refused.without_cache = true;
        CHECK_INT(generation_run(transformer, &refused, &call, &error), ROTARY_INVALID_ARGUMENT);
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

int main(void)
{
    static const struct attends rope = {.position = POSITION_ROPE}, roper = {.position = POSITION_ROPER},
                                xpos = {.position = POSITION_XPOS},
                                shared = {POSITION_ROPER, KEY_IS_VALUE_ROTATED};
    static const struct attends shifted[] = {rope,
                                             roper,
                                             xpos,
                                             shared,
                                             {.position = POSITION_NONE},
                                             {.position = POSITION_SHAW},
                                             {.position = POSITION_ALIBI},
                                             {.position = POSITION_T5},
                                             {.position = POSITION_CUSTOM},
                                             {POSITION_CUSTOM, KEY_IS_VALUE_ROTATED},
                                             {POSITION_ROPE, KEY_IS_VALUE_ROTATED},
                                             {POSITION_ROPE, KEY_IS_VALUE_UNROTATED}};
    rotary_error error = {0};
    struct backend cpu, reference, bf16;
    CHECK_INT(backend_create(&cpu, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    CHECK_INT(reference_backend_create(&reference, ROTARY_F32, &error), ROTARY_OK);
    for (size_t i = 0; i < sizeof shifted / sizeof *shifted; i++) {
        test_one_layer(&cpu, shifted[i], DISCARD, 2e-4);
        test_one_layer(&cpu, shifted[i], ODD_DISCARD, 2e-4);
    }
    test_one_layer(&reference, roper, ODD_DISCARD, 2e-4);
    test_backends(&cpu, &reference, rope);
    test_backends(&cpu, &reference, roper);
    test_backends(&cpu, &reference, xpos);
    test_backends(&cpu, &reference, shared);
    test_generation(&cpu, POSITION_ROPE);
    test_generation(&cpu, POSITION_ROPER);
    test_refusals(&cpu);
    if (backend_create(&bf16, 2, ROTARY_ISA_AUTO, PRECISION_BF16, &error) == ROTARY_OK) {
        test_one_layer(&bf16, roper, ODD_DISCARD, 0.5);
        backend_destroy(&bf16);
    }
    backend_destroy(&cpu);
    backend_destroy(&reference);
    check_about("%s", "");
    return check_report();
}
