/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that describe a position encoding: an accepted one is also accepted as part of a configuration, its
 * bias can be computed and differentiated, its curves can be drawn, and a model with it can be trained.
 */
#include "fuzz/target.h"

#include "file/file.h"
#include "model/encoding/decay.h"
#include "model/encoding/model_encoding.h"
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Heads have three pairs of channels. A model's tables of a longer clip have no room. */
enum { HEADS = 3, CHANNELS = 6, DISTANCES = 19, TIME = 7, VOCABULARY = 5, MAX_CLIP = 64 };

static void check_bias(const struct transformer_config *config, const struct model_encoding *encoding)
{
    const struct distance_bias_function *function = encoding->terms->distance_bias;
    const struct distance_bias_shape shape = {.heads = HEADS,
                                              .distances = DISTANCES,
                                              .first = -12,
                                              .settings = model_encoding_bias_settings(config, encoding)};
    float bias[HEADS * DISTANCES];
    const float *values[DISTANCE_BIAS_PARAMETERS] = {NULL};
    double gradients[DISTANCE_BIAS_PARAMETERS][HEADS] = {{0}}, *pointers[DISTANCE_BIAS_PARAMETERS];
    for (int i = 0; i < encoding->bias.learned; i++) {
        values[i] = encoding->bias.numbers[i].initial;
        pointers[i] = gradients[i];
    }
    if (encoding->custom->table.values)
        values[0] = encoding->custom->table.values;
    function->fill(&shape, values, bias);
    if (function->gradient && encoding->bias.formula)
        function->gradient(&shape, values, bias, pointers);
}

static void check_curves(const struct transformer_config *config)
{
    struct decay_curves curves = {0};
    rotary_error error = {0};
    if (fuzz_refused(decay_of_encoding(config, DISTANCES, &curves, &error), &error))
        return;
    for (int64_t i = 0; i < curves.curves * curves.count; i++)
        if (!isfinite(curves.values[i]))
            fuzz_fail("a curve has %g", curves.values[i]);
    decay_curves_free(&curves);
}

static void train(struct transformer *transformer)
{
    static const int32_t tokens[TIME] = {0, 4, 2, 2, 1, 3, 0}, classes[TIME] = {4, 2, 2, 1, 3, 0, 1};
    const struct batch batch = {.input = {.batch = 1, .time = TIME, .tokens = tokens}, .classes = classes};
    const struct transformer_call call = {.batch = &batch, .backward = true, .gradient_scale = 1.0f};
    struct loss_sums loss = {0};
    rotary_error error = {0};
    (void)fuzz_refused(transformer_run(transformer, &call, &loss, &error), &error);
}

static void check_model(struct transformer_config config, const struct model_encoding *encoding)
{
    const struct transformer_limits limits = {.batch = 1, .time = TIME, .training = true};
    struct backend backend;
    struct transformer *transformer;
    rotary_error error = {0};
    config.vocab_size = VOCABULARY;
    config.num_hidden_layers = 1;
    config.intermediate_size = 8;
    config.max_position_embeddings = TIME;
    if (encoding->custom->clip > MAX_CLIP ||
        fuzz_refused(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), &error))
        return;
    if (!fuzz_refused(transformer_create(&transformer, &backend, &config, limits, 1, &error), &error)) {
        train(transformer);
        transformer_destroy(transformer);
    }
    backend_destroy(&backend);
}

static void check_frequencies(const struct transformer_config *config)
{
    json_t *list = NULL;
    rotary_error error = {0};
    if (!fuzz_refused(model_encoding_frequencies(config, CHANNELS / 2, &list, &error), &error) && list &&
        json_array_size(list) != CHANNELS / 2)
        fuzz_fail("%zu frequencies", json_array_size(list));
    json_decref(list);
}

static void check_encoding(const struct transformer_config *config, const char *wanted)
{
    struct model_encoding encoding;
    rotary_error error = {0};
    if (strcmp(model_encoding_name(config), wanted) != 0)
        fuzz_fail("the name is %s", model_encoding_name(config));
    check_frequencies(config);
    check_curves(config);
    if (fuzz_refused(model_encoding_create(config, &encoding, &error), &error))
        return;
    if (encoding.terms->distance_bias)
        check_bias(config, &encoding);
    fuzz_count_memory(false);
    check_model(*config, &encoding);
    fuzz_count_memory(true);
    model_encoding_free(&encoding);
}

static bool read_encoding(const char *path)
{
    rotary_error error = {0};
    struct transformer_config config;
    json_t *object;
    if (fuzz_refused(custom_encoding_file(path, &object, &error), &error))
        return false;
    transformer_config_default(&config);
    config.num_attention_heads = config.num_key_value_heads = HEADS;
    config.head_dim = CHANNELS;
    config.hidden_size = HEADS * CHANNELS;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&config, settings);
    json_t *keys = json_pack("{s:O}", "position", object);
    if (settings_read(settings, TRANSFORMER_SETTINGS, keys, path, &error) != ROTARY_OK)
        fuzz_fail("an accepted file is refused in a configuration: %s", error.message);
    check_encoding(&config, file_json_name(object));
    transformer_config_free(&config);
    json_decref(keys);
    json_decref(object);
    return true;
}

static const char *const encoding_words[] = {"\"name\"",
                                             "\"embedding\"",
                                             "\"learned\"",
                                             "\"sinusoidal\"",
                                             "\"none\"",
                                             "\"rotate\"",
                                             "[\"query\",\"key\"]",
                                             "\"value\"",
                                             "\"bias\"",
                                             "\"initial\"",
                                             "\"frequencies\"",
                                             "\"vectors\"",
                                             "\"of\"",
                                             "\"clip\"",
                                             "pair",
                                             "pairs",
                                             ".npy",
                                             "\"shared\"",
                                             "true",
                                             "\"w\"",
                                             "distance",
                                             "head",
                                             "heads",
                                             "exp(",
                                             "if(",
                                             "sum(i,",
                                             "(",
                                             ")",
                                             ",",
                                             "*",
                                             "^",
                                             "\"",
                                             "{",
                                             "}",
                                             ":",
                                             "1e300",
                                             NULL};

/* A formula of a few bytes may be a sum of a thousand terms, and a file has several. */
const struct fuzz_target fuzz_encoding = {
    .name = "encoding", .read = read_encoding, .words = encoding_words, .memory = 64};
