/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that describe a position encoding: an accepted one is also accepted as part of a configuration, and
 * its bias can be computed and differentiated.
 */
#include "fuzz/target.h"

#include "file/file.h"
#include "model/model_encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 3, DISTANCES = 19 };

static void check_bias(const struct own_encoding *encoding)
{
    const struct distance_bias_function *function = encoding->terms.distance_bias;
    const struct distance_bias_shape shape = {
        .heads = HEADS,
        .distances = DISTANCES,
        .first = -12,
        .settings = {.formula = &encoding->bias, .table = &encoding->table}};
    float bias[HEADS * DISTANCES];
    const float *values[DISTANCE_BIAS_PARAMETERS] = {NULL};
    double gradients[DISTANCE_BIAS_PARAMETERS][HEADS] = {{0}}, *pointers[DISTANCE_BIAS_PARAMETERS];
    for (int i = 0; i < encoding->bias.learned; i++) {
        values[i] = encoding->bias.numbers[i].initial;
        pointers[i] = gradients[i];
    }
    if (encoding->table.values)
        values[0] = encoding->table.values;
    function->fill(&shape, values, bias);
    if (function->gradient && encoding->bias.formula)
        function->gradient(&shape, values, bias, pointers);
}

static void check_configuration(const json_t *object)
{
    struct transformer_config config;
    char *text = file_json_text(object, JSON_COMPACT), name[ENCODING_NAME_BYTES];
    transformer_config_default(&config);
    if (text && strlen(text) < sizeof config.position_object) {
        config.position = POSITION_OWN;
        memcpy(config.position_object, text, strlen(text) + 1);
        model_encoding(&config);
        json_t *list = NULL;
        rotary_error error = {0};
        if (!fuzz_refused(model_encoding_frequencies(&config, 3, &list, &error), &error) && list &&
            json_array_size(list) != 3)
            fuzz_fail("%zu frequencies", json_array_size(list));
        json_decref(list);
        if (strcmp(model_encoding_name(&config, name), file_json_name(object)) != 0)
            fuzz_fail("the name is %s", name);
    }
    free(text);
}

static bool read_encoding(const char *path)
{
    rotary_error error = {0};
    json_t *object;
    struct own_encoding encoding;
    if (fuzz_refused(own_encoding_file(path, &object, &error), &error))
        return false;
    check_configuration(object);
    if (!fuzz_refused(own_encoding_read(object, "the file", HEADS, &encoding, &error), &error)) {
        if (encoding.terms.distance_bias)
            check_bias(&encoding);
        own_encoding_free(&encoding);
    }
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
