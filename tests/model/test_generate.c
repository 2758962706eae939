/* SPDX-License-Identifier: Apache-2.0
 *
 * Generation: the same tokens with and without a cache, and one prompt at a time, from prompts of different
 * lengths, in chunks or token by token; stop tokens; sampling; nothing is computed for padding and finished
 * sequences; a model whose logits are not numbers; refusals.
 */
#include "backend/reference_backend.h"
#include "model/model_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "backend/profile.h"
#include "base/random.h"
#include "layer/encoding/encoding.h"
#include "layer/sublayer.h"
#include "model/generation/generation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 11, PROMPTS = 9, MAX = 20, LONGEST = 25 };

static struct transformer *create(const struct backend *backend, enum position position,
                                  int64_t key_value_heads, int64_t batch)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = key_value_heads;
    config.max_position_embeddings = LONGEST + MAX;
    config.position = (int)position;
    if (position == POSITION_CUSTOM) /* everything at once */
        model_assign(&config,
                     "position="
                     "{\"name\":\"own\",\"embedding\":\"learned\",\"rotate\":[\"query\",\"key\",\"value\"],"
                     "\"bias\":\"w * cos(distance + head)\",\"learned\":{\"w\":0.5}}");
    if (position == POSITION_CUSTOM || position == POSITION_SANDWICH)
        config.key_is_value = KEY_IS_VALUE_ROTATED;
    if (position == POSITION_XPOS)
        config.key_is_value = KEY_IS_VALUE_UNROTATED;
    config.attention_sinks = position == POSITION_CUSTOM || position == POSITION_ROPER;
    config.initializer_range = 0.5; /* far from uniform logits: near ties are rare */
    config.initialisation = 1;
    struct transformer_limits limits = {.batch = batch, .time = LONGEST + MAX};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 4, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
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

static struct prompts run(struct transformer *transformer, struct generate_config config)
{
    struct prompts prompts;
    fill(&prompts);
    rotary_error error = {0};
    const struct generate_call call = {.count = PROMPTS,
                                       .prompts = prompts.in,
                                       .lengths = prompts.lengths,
                                       .outputs = prompts.to,
                                       .generated = prompts.generated};
    if (!CHECK_INT(generation_run(transformer, &config, &call, &error), ROTARY_OK))
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

/* Logits of decoding in chunks equal those of one forward pass, within the bound, also after a chunk that
 * wants none. */
static void test_chunks(const struct backend *backend, enum position position, double bound)
{
    struct transformer *transformer = create(backend, position, 2, 4);
    enum { TIME = 23, BATCH = 3, UNREAD = 2 };
    int32_t tokens[BATCH][TIME];
    struct rotary_random random = {.key = {.seed = 9, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < BATCH * TIME; i++)
        tokens[i / TIME][i % TIME] = (int32_t)rotary_random_below(&random, VOCABULARY);
    static float all_logits[BATCH * TIME * VOCABULARY], last[BATCH * VOCABULARY];
    rotary_error error = {0};
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens[0]}};
    CHECK_INT(transformer_logits(transformer, &batch, all_logits, &error), ROTARY_OK);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = TIME};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    static const int chunks[] = {5, 1, 4, 1, 7, 2, 3};
    int at = 0;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        int32_t chunk[BATCH * TIME];
        for (int b = 0; b < BATCH; b++)
            memcpy(chunk + b * chunks[c], tokens[b] + at, (size_t)chunks[c] * sizeof *chunk);
        const struct transformer_decode_call call = {
            .time = chunks[c], .tokens = chunk, .logits = c == UNREAD ? NULL : last};
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
        at += chunks[c];
        for (int b = 0; b < BATCH && c != UNREAD; b++)
            for (int v = 0; v < VOCABULARY; v++)
                CHECK_NEAR((double)last[b * VOCABULARY + v],
                           (double)all_logits[((int64_t)b * TIME + at - 1) * VOCABULARY + v], bound);
    }
    CHECK_INT(at, TIME);
    const struct transformer_decode_call more = {.time = 1, .tokens = tokens[0], .logits = last};
    CHECK_INT(transformer_decode(transformer, cache, &more, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "the cache holds 23"));
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
}

/* Sequences that advance by different numbers of tokens, take one another's place, and leave: the logits are
 * those of one forward pass of each. */
static void test_ragged(const struct backend *backend, enum position position, double bound)
{
    enum { TIME = 19, BATCH = 3 };
    /* The new tokens of each call by sequence; after call COPIED, sequence 0 becomes a copy of sequence 2. */
    static const int64_t counts[][BATCH] = {{5, 1, 3}, {0, 7, 2}, {1, 1, 1}, {7, 0, 0}, {2, 6, 4}, {0, 2, 0}};
    enum { CALLS = sizeof counts / sizeof *counts, COPIED = 3 };
    struct transformer *transformer = create(backend, position, 2, 4);
    int32_t tokens[BATCH][TIME];
    struct rotary_random random = {.key = {.seed = 11, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < BATCH * TIME; i++)
        tokens[i / TIME][i % TIME] = (int32_t)rotary_random_below(&random, VOCABULARY);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = TIME};
    rotary_error error = {0};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    int64_t lengths[BATCH] = {0};
    for (int c = 0; c < CALLS; c++) {
        check_about("call %d", c);
        int32_t chunk[BATCH * 7];
        float logits[BATCH * VOCABULARY];
        memset(chunk, 0xff, sizeof chunk); /* padding that is no token: it may not be read */
        int64_t batch = c == CALLS - 1 ? 2 : 0;
        for (int b = 0; b < BATCH; b++)
            memcpy(chunk + b * 7L, tokens[b] + lengths[b], (size_t)counts[c][b] * sizeof *chunk);
        const struct transformer_decode_call call = {
            .batch = batch, .time = 7, .tokens = chunk, .counts = counts[c], .logits = logits};
        if (!CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK))
            printf("%s\n", error.message);
        for (int b = 0; b < BATCH; b++) {
            lengths[b] += counts[c][b];
            CHECK_INT(transformer_cache_length(cache, b), lengths[b]);
            if (counts[c][b] == 0)
                continue;
            static float wanted[TIME * VOCABULARY];
            const struct batch alone = {.input = {.batch = 1, .time = lengths[b], .tokens = tokens[b]}};
            CHECK_INT(transformer_logits(transformer, &alone, wanted, &error), ROTARY_OK);
            for (int v = 0; v < VOCABULARY; v++)
                CHECK_NEAR((double)logits[b * VOCABULARY + v],
                           (double)wanted[(lengths[b] - 1) * VOCABULARY + v], bound);
        }
        if (c != COPIED)
            continue;
        CHECK_INT(transformer_cache_copy(transformer, cache, 0, 2, &error), ROTARY_OK);
        memcpy(tokens[0], tokens[2], (size_t)lengths[2] * sizeof **tokens);
        lengths[0] = lengths[2];
    }
    check_about("%s", "");
    CHECK_INT(transformer_cache_copy(transformer, cache, 3, 0, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(transformer_cache_copy(transformer, cache, 0, -1, &error), ROTARY_INVALID_ARGUMENT);
    const struct transformer_decode_call large = {.batch = 4, .time = 1};
    CHECK_INT(transformer_decode(transformer, cache, &large, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "a call of 4 sequences of a cache of 3") != NULL);
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
}

/* Prompts generated together give what each gives alone, sampled or not, with a stop token that ends them at
 * different lengths; and take as many operations: nothing is computed for padding and for finished sequences.
 */
static void test_together(const struct backend *backend, enum position position, float temperature,
                          int32_t stop)
{
    struct backend profiled = *backend;
    struct transformer *transformer = create(&profiled, position, 2, PROMPTS);
    const struct generate_config config = {
        .max_new_tokens = MAX, .stop = stop, .sampler.temperature = (double)temperature, .seed = 5};
    static struct profile together, alone;
    together = alone = (struct profile){0};
    profiled.profile = &together;
    struct prompts got = run(transformer, config), wanted;
    profiled.profile = &alone;
    fill(&wanted);
    for (int i = 0; i < PROMPTS; i++) {
        /* Sampling is keyed by the index of a prompt: those before it have the shortest possible work. */
        const int32_t *in[PROMPTS];
        int64_t lengths[PROMPTS], generated[PROMPTS];
        struct prompts ignored;
        fill(&ignored);
        for (int j = 0; j <= i; j++) {
            in[j] = wanted.in[i];
            lengths[j] = wanted.lengths[i];
        }
        const struct generate_call call = {.count = temperature > 0 ? i + 1 : 1,
                                           .prompts = in,
                                           .lengths = lengths,
                                           .outputs = ignored.to,
                                           .generated = generated};
        rotary_error error = {0};
        CHECK_INT(generation_run(transformer, &config, &call, &error), ROTARY_OK);
        wanted.generated[i] = generated[call.count - 1];
        memcpy(wanted.out[i], ignored.out[call.count - 1], sizeof wanted.out[i]);
    }
    profiled.profile = NULL;
    compare(&got, &wanted);
    int64_t shortest = MAX;
    for (int i = 0; i < PROMPTS; i++)
        shortest = shortest < got.generated[i] ? shortest : got.generated[i];
    CHECK((shortest < MAX) == (stop >= 0));
    for (int i = 0; i < together.count && temperature <= 0; i++) {
        check_about("%s", together.rows[i].name);
        for (int j = 0; j < alone.count; j++)
            if (strcmp(together.rows[i].name, alone.rows[j].name) == 0)
                CHECK_NEAR(together.rows[i].operations, alone.rows[j].operations,
                           1e-9 * alone.rows[j].operations);
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void test_sampling(struct transformer *transformer)
{
    struct generate_config config = {
        .max_new_tokens = MAX, .stop = -1, .sampler.temperature = 1.0, .seed = 7};
    struct prompts first = run(transformer, config), again = run(transformer, config);
    compare(&again, &first);
    config.seed = 8;
    struct prompts other = run(transformer, config);
    CHECK(memcmp(other.out, first.out, sizeof first.out) != 0);
    config.sampler.temperature = 1e-4; /* next to 0: argmax */
    struct prompts low_temperature = run(transformer, config);
    config.sampler.temperature = 0.0;
    struct prompts greedy = run(transformer, config);
    compare(&low_temperature, &greedy);
}

enum { SAMPLED = 64 };

/* From all prompts alike, MAX tokens of nearly uniform logits. */
static void draw(struct transformer *transformer, uint64_t seed, int32_t tokens[SAMPLED][MAX])
{
    const struct generate_config config = {
        .max_new_tokens = MAX, .stop = -1, .sampler.temperature = 1e4, .seed = seed};
    const int32_t prompt = 0, *prompts[SAMPLED];
    int32_t *outputs[SAMPLED];
    int64_t lengths[SAMPLED], generated[SAMPLED];
    for (int i = 0; i < SAMPLED; i++) {
        prompts[i] = &prompt;
        lengths[i] = 1;
        outputs[i] = tokens[i];
    }
    const struct generate_call call = {
        .count = SAMPLED, .prompts = prompts, .lengths = lengths, .outputs = outputs, .generated = generated};
    CHECK_INT(generation_run(transformer, &config, &call, NULL), ROTARY_OK);
}

/* Every prompt and position draws a number of its own: each token is as frequent as the others, and two
 * prompts, two positions or two seeds agree as often as chance has it, within about six standard deviations.
 */
static void test_independent_samples(const struct backend *backend)
{
    static int32_t tokens[SAMPLED][MAX], others[SAMPLED][MAX];
    struct transformer *transformer = create(backend, POSITION_ROPE, 4, SAMPLED);
    int counts[VOCABULARY] = {0}, seeds = 0;
    draw(transformer, 21, tokens);
    draw(transformer, 21 + (1ull << 40), others);
    for (int i = 0; i < SAMPLED; i++)
        for (int t = 0; t < MAX; t++) {
            counts[tokens[i][t]]++;
            seeds += tokens[i][t] == others[i][t];
        }
    check_about("samples");
    for (int token = 0; token < VOCABULARY; token++)
        CHECK_NEAR(counts[token], SAMPLED * MAX / 11.0, 62);
    CHECK_NEAR(seeds, SAMPLED * MAX / 11.0, 62);
    for (int i = 0; i < SAMPLED; i++)
        for (int j = 0; j < i; j++) {
            int agree = 0;
            for (int t = 0; t < MAX; t++)
                agree += tokens[i][t] == tokens[j][t];
            check_about("prompts %d and %d", i, j);
            CHECK(agree <= 10); /* of 20 */
        }
    for (int s = 0; s < MAX; s++)
        for (int t = 0; t < s; t++) {
            int agree = 0;
            for (int i = 0; i < SAMPLED; i++)
                agree += tokens[i][s] == tokens[i][t];
            check_about("positions %d and %d", s, t);
            CHECK_NEAR(agree, SAMPLED / 11.0, 14);
        }
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* The listener gets every token in order, and ends the sequence it says. */
struct heard {
    int32_t tokens[PROMPTS][MAX];
    int64_t counts[PROMPTS];
};

static bool hear(void *context, int64_t prompt, int32_t token)
{
    struct heard *heard = context;
    heard->tokens[prompt][heard->counts[prompt]++] = token;
    return heard->counts[prompt] == 3 + prompt;
}

static void test_listener(struct transformer *transformer)
{
    struct generate_config config = {
        .max_new_tokens = MAX, .stop = -1, .sampler.temperature = 2.0, .seed = 7};
    struct prompts all = run(transformer, config), got;
    struct heard heard = {.counts = {0}};
    fill(&got);
    const struct generate_call call = {.count = PROMPTS,
                                       .prompts = got.in,
                                       .lengths = got.lengths,
                                       .outputs = got.to,
                                       .generated = got.generated,
                                       .listener = hear,
                                       .context = &heard};
    CHECK_INT(generation_run(transformer, &config, &call, NULL), ROTARY_OK);
    for (int i = 0; i < PROMPTS; i++) {
        check_about("prompt %d", i);
        CHECK_INT(got.generated[i], 3 + i);
        CHECK_INT(heard.counts[i], 3 + i);
        CHECK(memcmp(heard.tokens[i], all.out[i], (size_t)(3 + i) * sizeof(int32_t)) == 0);
        CHECK(memcmp(got.out[i], all.out[i], (size_t)(3 + i) * sizeof(int32_t)) == 0);
    }
    check_about("%s", "");
    /* The same prompts in two calls draw the same numbers. */
    const struct generate_call rest = {.count = PROMPTS - 4,
                                       .prompts = got.in + 4,
                                       .lengths = got.lengths + 4,
                                       .outputs = got.to + 4,
                                       .generated = got.generated + 4,
                                       .first = 4};
    CHECK_INT(generation_run(transformer, &config, &rest, NULL), ROTARY_OK);
    for (int i = 4; i < PROMPTS; i++)
        CHECK(memcmp(got.out[i], all.out[i], sizeof got.out[i]) == 0);
    /* Tokens of the text are penalised: none is there twice while others are left. */
    config.sampler = (struct sampler_config){.repetition_penalty = 1e6};
    struct prompts penalised = run(transformer, config);
    config.sampler.repetition_penalty = 0.0;
    struct prompts greedy = run(transformer, config);
    CHECK(memcmp(penalised.out, greedy.out, sizeof greedy.out) != 0);
    config.sampler.top_k = 2;
    rotary_error error = {0};
    CHECK_INT(generation_run(transformer, &config, &rest, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "top_k without a temperature") != NULL);
}

/* The stop token within a prompt, or at the end of one that takes several calls, does not end it. */
static void test_stop_in_prompt(struct transformer *large, struct transformer *small)
{
    struct generate_config config = {.max_new_tokens = 2};
    for (config.stop = 0; config.stop < VOCABULARY; config.stop++) {
        struct prompts together = run(large, config), few = run(small, config);
        compare(&few, &together);
        for (int i = 0; i < PROMPTS; i++)
            CHECK(few.generated[i] > 0);
    }
}

/* One logit of a row that is NaN: nothing is generated, however tokens are chosen, unless the caller asks for
 * it. It is not the first, which would be taken for the largest. */
static void test_not_numbers(const struct backend *backend)
{
    enum { NEW = 3, BROKEN = VOCABULARY - 1 };
    struct transformer *transformer = create(backend, POSITION_ROPE, 2, 2);
    struct parameters *parameters = transformer_parameters(transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    const int bias = parameters_find(parameters, "output.bias");
    if (!CHECK(bias >= 0))
        exit(1);
    CHECK_INT(parameter_elements(&parameters->rows[bias]), VOCABULARY);
    values[parameters->rows[bias].offset + BROKEN] = (float)NAN;
    parameter_give(parameters, PARAMETER_VALUES, values);
    const int32_t texts[2][3] = {{1, 2, 3}, {4}}, *prompts[2] = {texts[0], texts[1]};
    const int64_t lengths[2] = {3, 1};
    int32_t out[2][NEW], *outputs[2] = {out[0], out[1]};
    int64_t generated[2];
    const struct generate_call call = {.count = 2,
                                       .prompts = prompts,
                                       .lengths = lengths,
                                       .outputs = outputs,
                                       .generated = generated,
                                       .first = 5};
    static const struct sampler_config samplers[] = {{0},
                                                     {.temperature = 1},
                                                     {.temperature = 1, .top_k = 3},
                                                     {.temperature = 1, .top_p = 0.5},
                                                     {.repetition_penalty = 2}};
    for (int i = 0; i < 2 * (int)(sizeof samplers / sizeof *samplers); i++) {
        rotary_error error = {0};
        struct generate_config config = {
            .max_new_tokens = NEW, .stop = -1, .sampler = samplers[i / 2], .without_cache = i % 2};
        check_about("not numbers, sampler %d, %s cache", i / 2, i % 2 ? "without" : "with");
        CHECK_INT(generation_run(transformer, &config, &call, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_TEXT(error.message, "prompt 5: the model's logits are not numbers");
        CHECK_INT(generated[0] + generated[1], 0);
        config.unchecked = true;
        CHECK_INT(generation_run(transformer, &config, &call, NULL), ROTARY_OK);
        CHECK_INT(generated[0] + generated[1], 2 * NEW);
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void test_encoding(const struct backend *backend, enum position position)
{
    check_about("%s, %s", backend->operations->name,
                position == POSITION_CUSTOM ? "own" : position_names[position]);
    test_chunks(backend, position, 2e-4);
    test_ragged(backend, position, 2e-4);
    struct transformer *large = create(backend, position, 2, PROMPTS);
    struct transformer *small = create(backend, position, 2, 1);
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
    test_together(backend, position, 0.0f, -1);
    test_together(backend, position, 0.0f, config.stop);
    test_together(backend, position, 1.0f, config.stop);
    if (position == POSITION_ROPER) {
        test_sampling(large);
        test_listener(large);
    }
    if (position == POSITION_ROPE)
        test_stop_in_prompt(large, small);
    transformer_destroy(large);
    transformer_destroy(small);
}

int main(void)
{
    rotary_error error = {0};
    struct backend backend;
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    for (int position = 0; position <= POSITION_CUSTOM; position++)
        test_encoding(&backend, (enum position)position);
    test_independent_samples(&backend);
    test_not_numbers(&backend);
    backend_destroy(&backend);
    CHECK_INT(reference_backend_create(&backend, ROTARY_F32, &error), ROTARY_OK);
    test_encoding(&backend, POSITION_ROPER);
    backend_destroy(&backend);
    check_about("%s", "");
    if (backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_BF16, &error) == ROTARY_OK) {
        test_chunks(&backend, POSITION_ROPER, 0.5);
        test_ragged(&backend, POSITION_ROPER, 0.5);
        backend_destroy(&backend);
    }
    return check_report();
}
