/* SPDX-License-Identifier: Apache-2.0
 *
 * Unknown words: the word that the last layer attends to most when it gives one, against the weights
 * themselves.
 */
#include "support/check.h"

#include "base/random.h"
#include "model/attention_weights.h"
#include "model/unknown_words.h"

#include <string.h>

enum { VOCABULARY = 20, BEGIN = 1, UNKNOWN = 2, SOURCE = 9, COUNT = 12 };

static struct transformer *create(const struct backend *backend, uint64_t seed)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.architecture = ARCHITECTURE_ENCODER_DECODER;
    config.vocab_size = config.source_vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.max_position_embeddings = 32;
    config.initialisation = INITIAL_NORMAL;
    config.initializer_range = 2.0;
    const struct transformer_limits limits = {.batch = 1, .time = COUNT, .source_time = SOURCE};
    struct transformer *transformer = NULL;
    CHECK_INT(transformer_create(&transformer, backend, &config, limits, seed, NULL), ROTARY_OK);
    return transformer;
}

/* The word, not the end, with the largest sum of weights of the last layer's heads. */
static int64_t find_word(const struct attention_weights *cross, int64_t query)
{
    double sums[SOURCE] = {0};
    int64_t best = 0;
    for (int64_t key = 0; key < SOURCE - 1; key++) {
        for (int64_t head = 0; head < cross->heads; head++)
            sums[key] += (double)attention_weights_head(cross, cross->layers - 1, head)[query * SOURCE + key];
        best = sums[key] > sums[best] ? key : best;
    }
    return best;
}

/* Returns whether it matters which position looks. */
static bool test_model(const struct backend *backend, uint64_t seed)
{
    struct transformer *transformer = create(backend, seed);
    int32_t source[SOURCE], output[COUNT], tokens[COUNT + 1] = {BEGIN};
    int64_t from[COUNT];
    struct rotary_random random = {.key = {.seed = 7, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < SOURCE; i++)
        source[i] = (int32_t)rotary_random_below(&random, VOCABULARY);
    for (int i = 0; i < COUNT; i++)
        output[i] = i % 3 == 1 ? UNKNOWN : (int32_t)(UNKNOWN + 1 + rotary_random_below(&random, 9));
    memcpy(tokens + 1, output, sizeof output);
    const struct unknown_words_call call = {.source = source,
                                            .source_count = SOURCE,
                                            .output = output,
                                            .count = COUNT,
                                            .begin = BEGIN,
                                            .unknown = UNKNOWN,
                                            .from = from};
    CHECK_INT(unknown_words(transformer, &call, NULL), ROTARY_OK);
    const struct attention_weights_call every = {
        .tokens = tokens, .count = COUNT, .source = source, .source_count = SOURCE};
    struct attention_weights weights[ATTENTION_KINDS];
    CHECK_INT(attention_weights_create(weights, transformer, &every, NULL), ROTARY_OK);
    bool differs = false;
    for (int i = 0; i < COUNT; i++) {
        int64_t wanted = find_word(&weights[ATTENTION_CROSS], i);
        CHECK_INT(from[i], output[i] == UNKNOWN ? wanted : -1);
        differs = differs || (output[i] == UNKNOWN && i + 1 < COUNT &&
                              find_word(&weights[ATTENTION_CROSS], i + 1) != wanted);
    }
    attention_weights_free(weights);
    output[1] = VOCABULARY;
    CHECK_INT(unknown_words(transformer, &call, NULL), ROTARY_INVALID_ARGUMENT);
    transformer_destroy(transformer);
    return differs;
}

int main(void)
{
    struct backend backend;
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    int matters = 0;
    for (uint64_t seed = 1; seed <= 8; seed++)
        matters += test_model(&backend, seed);
    CHECK(matters > 0);
    backend_destroy(&backend);
    return check_report();
}
