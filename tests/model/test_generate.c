/* SPDX-License-Identifier: Apache-2.0
 *
 * Generation: the same tokens with and without a cache, from prompts of different lengths, in chunks or token
 * by token; stop tokens; sampling; refusals.
 */
#include "support/check.h"

#include "base/random.h"
#include "layer/encoding.h"
#include "model/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 11, PROMPTS = 9, MAX = 20, LONGEST = 25 };

static struct decoder *create(const struct backend *backend, enum position position, int64_t key_value_heads,
                              int64_t batch)
{
    struct decoder_config config;
    decoder_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = key_value_heads;
    config.max_position_embeddings = LONGEST + MAX;
    config.position = (int)position;
    config.initializer_range = 0.5; /* far from uniform logits: near ties are rare */
    config.initialisation = 1;
    struct decoder_limits limits = {.batch = batch, .time = LONGEST + MAX};
    struct decoder *decoder = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(decoder_create(&decoder, backend, &config, limits, 4, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return decoder;
}

struct prompts {
    int32_t text[PROMPTS][LONGEST], out[PROMPTS][MAX];
    const int32_t *in[PROMPTS];
    int32_t *to[PROMPTS];
    int64_t lengths[PROMPTS], generated[PROMPTS];
};

static void fill(struct prompts *prompts)
{
    struct rotary_random random = {.key = {.seed = 3, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < PROMPTS; i++) {
        for (int t = 0; t < LONGEST; t++)
            prompts->text[i][t] = (int32_t)rotary_random_below(&random, VOCABULARY);
        prompts->in[i] = prompts->text[i];
        prompts->to[i] = prompts->out[i];
        prompts->lengths[i] = i == 0 ? 1 : 1 + rotary_random_below(&random, LONGEST);
        memset(prompts->out[i], 0xff, sizeof prompts->out[i]);
    }
}

static struct prompts run(struct decoder *decoder, struct generate_config config)
{
    struct prompts prompts;
    fill(&prompts);
    rotary_error error = {0};
    const struct generate_call call = {.count = PROMPTS,
                                       .prompts = prompts.in,
                                       .lengths = prompts.lengths,
                                       .outputs = prompts.to,
                                       .generated = prompts.generated};
    if (!CHECK_INT(generate(decoder, &config, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return prompts;
}

static void compare(const struct prompts *got, const struct prompts *wanted)
{
    for (int i = 0; i < PROMPTS; i++) {
        CHECK_INT(got->generated[i], wanted->generated[i]);
        for (int t = 0; t < wanted->generated[i]; t++)
            CHECK_INT(got->out[i][t], wanted->out[i][t]);
    }
}

/* Logits of decoding in chunks equal those of one forward pass, within the bound. */
static void test_chunks(const struct backend *backend, enum position position, double bound)
{
    struct decoder *decoder = create(backend, position, 2, 4);
    enum { TIME = 19, BATCH = 3 };
    int32_t tokens[BATCH][TIME];
    struct rotary_random random = {.key = {.seed = 9, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < BATCH * TIME; i++)
        tokens[i / TIME][i % TIME] = (int32_t)rotary_random_below(&random, VOCABULARY);
    static float all_logits[BATCH * TIME * VOCABULARY], last[BATCH * VOCABULARY];
    rotary_error error = {0};
    const struct token_sequences input = {.batch = BATCH, .time = TIME, .tokens = tokens[0]};
    CHECK_INT(decoder_logits(decoder, &input, all_logits, &error), ROTARY_OK);
    struct decoder_cache *cache = NULL;
    CHECK_INT(decoder_cache_create(&cache, decoder, BATCH, TIME, &error), ROTARY_OK);
    static const int chunks[] = {5, 1, 1, 7, 2, 3};
    int at = 0;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        int32_t chunk[BATCH * TIME];
        for (int b = 0; b < BATCH; b++)
            memcpy(chunk + b * chunks[c], tokens[b] + at, (size_t)chunks[c] * sizeof *chunk);
        const struct decoder_decode_call call = {.time = chunks[c], .tokens = chunk, .logits = last};
        CHECK_INT(decoder_decode(decoder, cache, &call, &error), ROTARY_OK);
        at += chunks[c];
        for (int b = 0; b < BATCH; b++)
            for (int v = 0; v < VOCABULARY; v++)
                CHECK_NEAR((double)last[b * VOCABULARY + v],
                           (double)all_logits[((int64_t)b * TIME + at - 1) * VOCABULARY + v], bound);
    }
    CHECK_INT(at, TIME);
    const struct decoder_decode_call more = {.time = 1, .tokens = tokens[0], .logits = last};
    CHECK_INT(decoder_decode(decoder, cache, &more, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "the cache holds 19"));
    decoder_cache_destroy(cache);
    decoder_destroy(decoder);
}

static void test_sampling(struct decoder *decoder)
{
    struct generate_config config = {.max_new_tokens = MAX, .stop = -1, .temperature = 1.0f, .seed = 7};
    struct prompts first = run(decoder, config), again = run(decoder, config);
    compare(&again, &first);
    config.seed = 8;
    struct prompts other = run(decoder, config);
    CHECK(memcmp(other.out, first.out, sizeof first.out) != 0);
    config.temperature = 1e-4f; /* next to 0: argmax */
    struct prompts low_temperature = run(decoder, config);
    config.temperature = 0.0f;
    struct prompts greedy = run(decoder, config);
    compare(&low_temperature, &greedy);
}

int main(void)
{
    rotary_error error = {0};
    struct backend backend;
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    for (int position = 0; position < POSITIONS; position++) {
        check_about("%s", position_names[position]);
        test_chunks(&backend, (enum position)position, 2e-4);
        struct decoder *large = create(&backend, (enum position)position, 2, PROMPTS);
        struct decoder *small = create(&backend, (enum position)position, 2, 1);
        struct generate_config config = {.max_new_tokens = MAX, .stop = -1};
        struct prompts cached = run(large, config), few = run(small, config);
        config.without_cache = true;
        struct prompts uncached = run(large, config);
        compare(&cached, &uncached);
        compare(&few, &uncached);
        for (int i = 0; i < PROMPTS; i++)
            CHECK_INT(cached.generated[i], MAX);
        /* A stop token cuts the same sequence after its first occurrence. */
        config = (struct generate_config){.max_new_tokens = MAX, .stop = cached.out[2][3]};
        struct prompts stopped = run(large, config);
        int cut = 0;
        for (int i = 0; i < PROMPTS; i++) {
            int64_t length = 0;
            while (length < MAX && cached.out[i][length++] != config.stop)
                ;
            CHECK_INT(stopped.generated[i], length);
            for (int t = 0; t < length; t++)
                CHECK_INT(stopped.out[i][t], cached.out[i][t]);
            cut += length < MAX;
        }
        CHECK(cut > 0);
        if (position == POSITION_ROPER)
            test_sampling(large);
        decoder_destroy(large);
        decoder_destroy(small);
    }
    check_about("%s", "");
    backend_destroy(&backend);
    if (backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_BF16, &error) == ROTARY_OK) {
        test_chunks(&backend, POSITION_ROPER, 0.5);
        backend_destroy(&backend);
    }
    return check_report();
}
