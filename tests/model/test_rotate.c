/* SPDX-License-Identifier: Apache-2.0
 *
 * The key `rotate`, of all subsets of queries, keys, values and outputs: decoding in steps is the forward pass, each
 * subset computes something else, and those that encodings have are these encodings, bit by bit.
 */
#include "model/model_keys.h"
#include "support/check.h"

#include "model/config_check.h"
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOCABULARY = 11,
    BATCH = 2,
    TIME = 12,
    TOKENS = BATCH * TIME,
    LOGITS = TOKENS * VOCABULARY,
    SUBSETS = 16
};

static struct transformer *create(const struct backend *backend, const char *settings)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    struct transformer *transformer = NULL;
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.max_position_embeddings = TIME;
    config.initialisation = 1;
    config.initializer_range = 0.5;
    json_t *object = json_loads(settings, 0, NULL);
    model_read(&config, object);
    json_decref(object);
    const struct transformer_limits limits = {.batch = BATCH, .time = TIME};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 4, &error), ROTARY_OK)) {
        printf("%s: %s\n", settings, error.message);
        exit(1);
    }
    return transformer;
}

static void fill(int32_t tokens[TOKENS])
{
    for (int i = 0; i < TOKENS; i++)
        tokens[i] = (i * i + 3 * i) % VOCABULARY;
}

static void run(struct transformer *transformer, float logits[LOGITS])
{
    int32_t tokens[TOKENS];
    fill(tokens);
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens}};
    CHECK_INT(transformer_logits(transformer, &batch, logits, NULL), ROTARY_OK);
}

/* The logits of the last token of each step are those of the forward pass. */
static void check_decoding(struct transformer *transformer, const float logits[LOGITS])
{
    static const int steps[] = {3, 1, 1, 5, 2};
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = TIME};
    int32_t tokens[TOKENS], part[TOKENS];
    float last[BATCH * VOCABULARY];
    int at = 0;
    fill(tokens);
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, NULL), ROTARY_OK);
    for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) {
        for (int b = 0; b < BATCH; b++)
            memcpy(part + b * steps[step], tokens + b * TIME + at, (size_t)steps[step] * sizeof *part);
        const struct transformer_decode_call call = {.time = steps[step], .tokens = part, .logits = last};
        CHECK_INT(transformer_decode(transformer, cache, &call, NULL), ROTARY_OK);
        at += steps[step];
        for (int i = 0; i < BATCH * VOCABULARY; i++) {
            float wanted = logits[((i / VOCABULARY) * TIME + at - 1) * VOCABULARY + i % VOCABULARY];
            CHECK_NEAR(last[i], wanted, 1e-5 * (1.0 + fabs((double)wanted)));
        }
    }
    transformer_cache_destroy(cache);
}

static void test_subsets(const struct backend *backend)
{
    static float logits[SUBSETS][LOGITS];
    for (int subset = 1; subset < SUBSETS; subset++) {
        char settings[80];
        snprintf(settings, sizeof settings, "{\"rotate\": \"%s\"}", rotate_names[subset]);
        check_about("%s", settings);
        struct transformer *transformer = create(backend, settings);
        run(transformer, logits[subset]);
        check_decoding(transformer, logits[subset]);
        transformer_destroy(transformer);
        for (int other = 1; other < subset; other++) {
            double largest = 0;
            for (int i = 0; i < LOGITS; i++)
                largest = fmax(largest, fabs((double)logits[subset][i] - (double)logits[other][i]));
            CHECK(largest > 1e-2);
        }
    }
    static const struct {
        const char *position;
        unsigned rotate;
    } named[] = {{"rope", ROTATE_QUERY_KEY}, {"roper", ROTATE_ALL}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        static float got[LOGITS];
        char settings[80];
        snprintf(settings, sizeof settings, "{\"position\": \"%s\"}", named[i].position);
        check_about("%s", settings);
        struct transformer *transformer = create(backend, settings);
        run(transformer, got);
        CHECK(memcmp(got, logits[named[i].rotate], sizeof got) == 0);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

/* A fraction of 0 leaves nothing of queries and keys, or of values and outputs. */
static void test_fractions(const struct backend *backend)
{
    static const struct {
        const char *settings, *same;
    } pairs[] = {
        {"{\"rotate\": \"qvo\", \"partial_rotary_factor\": 0}", "{\"rotate\": \"vo\"}"},
        {"{\"rotate\": \"kv\", \"value_fraction\": 0}", "{\"rotate\": \"k\"}"},
        {"{\"rotate\": \"o\", \"value_fraction\": 0}", "{\"position\": \"none\"}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        static float logits[2][LOGITS];
        check_about("%s", pairs[i].settings);
        for (int side = 0; side < 2; side++) {
            struct transformer *transformer = create(backend, side ? pairs[i].same : pairs[i].settings);
            run(transformer, logits[side]);
            transformer_destroy(transformer);
        }
        CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    }
    check_about("%s", "");
}

/* Keys that are values are one: the letter of values says nothing more where keys rotate. */
static void test_shared_keys(const struct backend *backend)
{
    static const char *const settings[] = {
        "{\"key_is_value\": true, \"rotate\": \"k\"}",
        "{\"key_is_value\": true, \"rotate\": \"kv\"}",
        "{\"key_is_value\": true, \"rotate\": \"qko\"}",
        "{\"key_is_value\": true, \"rotate\": \"qkvo\"}",
        "{\"key_is_value\": true, \"rotate\": \"o\"}",
        "{\"key_is_value\": \"unrotated\", \"rotate\": \"ko\"}",
    };
    enum { SETTINGS = sizeof settings / sizeof *settings };
    static float logits[SETTINGS][LOGITS];
    for (int i = 0; i < SETTINGS; i++) {
        check_about("%s", settings[i]);
        struct transformer *transformer = create(backend, settings[i]);
        run(transformer, logits[i]);
        check_decoding(transformer, logits[i]);
        transformer_destroy(transformer);
        for (int other = 0; other < i; other++)
            CHECK_INT(memcmp(logits[i], logits[other], sizeof logits[i]) == 0,
                      i == other + 1 && i % 2 && i < 4);
    }
    check_about("%s", "");
}

static void refuse(const char *settings, const char *words)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.max_position_embeddings = TIME;
    json_t *object = json_loads(settings, 0, NULL);
    model_read(&config, object);
    json_decref(object);
    check_about("%s", settings);
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
}

int main(void)
{
    struct backend backend;
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    test_subsets(&backend);
    test_fractions(&backend);
    test_shared_keys(&backend);
    refuse("{\"rotate\": \"vo\", \"key_is_value\": true}",
           "key_is_value is true, and rotate vo rotates values but no keys");
    refuse("{\"rotate\": \"kv\", \"key_is_value\": \"unrotated\"}",
           "key_is_value is unrotated, and rotate kv rotates values");
    refuse("{\"rotate\": \"ko\", \"rope_parameters\": {\"llama_4_scaling_beta\": 0.1, "
           "\"original_max_position_embeddings\": 4}}",
           "llama_4_scaling_beta|rotate ko has no q: wanted one with q");
    backend_destroy(&backend);
    return check_report();
}
