/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/model_encoding.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>

enum { WHERE_BYTES = ENCODING_NAME_BYTES + 16 };

/* What begins messages. */
static const char *where_of(const struct transformer_config *config, char where[WHERE_BYTES])
{
    char name[ENCODING_NAME_BYTES];
    snprintf(where, WHERE_BYTES, "position %s", model_encoding_name(config, name));
    return where;
}

static rotary_status no_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read a position encoding");
}

static rotary_status read_description(const struct transformer_config *config, int64_t heads,
                                      struct custom_encoding *encoding, rotary_error *error)
{
    char where[WHERE_BYTES];
    if (config->position != POSITION_OWN) {
        *encoding = (struct custom_encoding){.terms = *position_encoding((enum position)config->position)};
        return ROTARY_OK;
    }
    json_t *object = settings_json(config->position_object);
    if (!object)
        return no_memory(error);
    rotary_status status = custom_encoding_read(object, where_of(config, where), heads, encoding, error);
    json_decref(object);
    return status;
}

rotary_status model_encoding_terms(const struct transformer_config *config, struct position_encoding *terms,
                                   rotary_error *error)
{
    struct custom_encoding encoding;
    rotary_status status = read_description(config, 0, &encoding, error);
    if (status != ROTARY_OK)
        return status;
    *terms = encoding.terms;
    custom_encoding_free(&encoding);
    return ROTARY_OK;
}

struct position_encoding model_encoding(const struct transformer_config *config)
{
    struct position_encoding terms;
    return model_encoding_terms(config, &terms, NULL) == ROTARY_OK ? terms : encoding_none;
}

const char *model_encoding_name(const struct transformer_config *config, char name[ENCODING_NAME_BYTES])
{
    if (config->position != POSITION_OWN) {
        snprintf(name, ENCODING_NAME_BYTES, "%s", position_names[config->position]);
        return name;
    }
    json_t *object = settings_json(config->position_object);
    const char *given = file_json_name(object);
    snprintf(name, ENCODING_NAME_BYTES, "%s", given ? given : "without a name");
    json_decref(object);
    return name;
}

rotary_status model_encoding_read(const struct transformer_config *config, struct custom_encoding *encoding,
                                  rotary_error *error)
{
    return read_description(config, config->num_attention_heads, encoding, error);
}

struct distance_bias_settings model_encoding_bias_settings(const struct transformer_config *config,
                                                           const struct custom_encoding *encoding)
{
    return (struct distance_bias_settings){.width = config->hidden_size,
                                           .buckets = config->relative_attention_num_buckets,
                                           .max_distance = config->relative_attention_max_distance,
                                           .kernel = (enum kerple_kernel)config->kerple_kernel,
                                           .sandwich_channels = config->sandwich_channels,
                                           .fire_width = config->fire_width,
                                           .fire_length = config->fire_length,
                                           .formula = &encoding->bias,
                                           .table = &encoding->table};
}

rotary_status model_encoding_frequencies(const struct transformer_config *config, int64_t pairs,
                                         json_t **list, rotary_error *error)
{
    char where[WHERE_BYTES];
    *list = NULL;
    if (config->position != POSITION_OWN)
        return ROTARY_OK;
    json_t *object = settings_json(config->position_object);
    if (!object)
        return no_memory(error);
    rotary_status status = custom_encoding_frequencies(object, where_of(config, where), pairs, list, error);
    json_decref(object);
    return status;
}

bool model_encoding_has_frequencies(const struct transformer_config *config)
{
    if (config->position != POSITION_OWN)
        return false;
    json_t *object = settings_json(config->position_object);
    bool has = json_object_get(object, "frequencies");
    json_decref(object);
    return has;
}

/* The initial bias at a few distances of each head. */
static rotary_status check_finite(const struct transformer_config *config,
                                  const struct custom_encoding *encoding, int64_t distance,
                                  rotary_error *error)
{
    const struct formula_bias *bias = &encoding->bias;
    const struct distance_bias_shape shape = {.heads = config->num_attention_heads,
                                              .distances = 1,
                                              .first = distance,
                                              .settings = model_encoding_bias_settings(config, encoding)};
    const float *parameters[DISTANCE_BIAS_PARAMETERS];
    float values[TRANSFORMER_MAX_HEADS];
    char where[WHERE_BYTES];
    for (int i = 0; i < bias->learned; i++)
        parameters[i] = bias->numbers[i].initial;
    encoding->terms.distance_bias->fill(&shape, parameters, values);
    for (int64_t head = 0; head < shape.heads; head++)
        if (!isfinite(values[head]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s: \"bias\" is %g at distance %lld in head %lld, wanted a finite "
                               "number",
                               where_of(config, where), (double)values[head], (long long)distance,
                               (long long)head);
    return ROTARY_OK;
}

/* All distances up to 64, and then fewer and fewer, to the longest. */
static rotary_status check_bias(const struct transformer_config *config,
                                const struct custom_encoding *encoding, rotary_error *error)
{
    const int64_t longest = config->max_position_embeddings - 1;
    rotary_status status = ROTARY_OK;
    for (int64_t distance = 0; status == ROTARY_OK && distance <= longest;
         distance = distance < longest ? min_i64(distance + 1 + distance / 64, longest) : longest + 1) {
        status = check_finite(config, encoding, -distance, error);
        if (status == ROTARY_OK && config->architecture != ARCHITECTURE_DECODER)
            status = check_finite(config, encoding, distance, error);
    }
    return status;
}

rotary_status model_encoding_check(const struct transformer_config *config, rotary_error *error)
{
    struct custom_encoding encoding;
    rotary_status status = model_encoding_read(config, &encoding, error);
    if (status != ROTARY_OK)
        return status;
    if (encoding.bias.formula)
        status = check_bias(config, &encoding, error);
    custom_encoding_free(&encoding);
    return status;
}
