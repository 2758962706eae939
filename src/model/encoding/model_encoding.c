/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/model_encoding.h"

#include "base/fail.h"
#include "base/integer.h"

#include <math.h>

const struct custom_encoding *model_encoding_custom(const struct transformer_config *config)
{
    return config->position == POSITION_CUSTOM ? (const struct custom_encoding *)(void *)config->description
                                               : NULL;
}

const struct position_encoding *model_encoding(const struct transformer_config *config)
{
    const struct custom_encoding *custom = model_encoding_custom(config);
    return custom ? &custom->terms : position_encoding((enum position)config->position);
}

const char *model_encoding_name(const struct transformer_config *config)
{
    const struct custom_encoding *custom = model_encoding_custom(config);
    return custom ? custom->name : position_names[config->position];
}

unsigned model_rotates(const struct transformer_config *config)
{
    const unsigned own = model_encoding(config)->rotate;
    return own && config->rotate ? (unsigned)config->rotate : own;
}

union encoding_options model_encoding_options(const struct transformer_config *config)
{
    return encoding_options_of(config->options, (enum position)config->position);
}

int64_t model_encoding_clip(const struct transformer_config *config)
{
    const struct custom_encoding *custom = model_encoding_custom(config);
    const struct position_encoding *encoding = model_encoding(config);
    const union encoding_options options = model_encoding_options(config);
    return custom ? custom->clip : encoding->clip ? encoding->clip(&options) : 0;
}

rotary_status model_encoding_create(const struct transformer_config *config, struct model_encoding *encoding,
                                    rotary_error *error)
{
    struct model_encoding made = {.terms = model_encoding(config), .custom = model_encoding_custom(config)};
    rotary_status status =
        made.custom ? custom_encoding_bias(made.custom, config->num_attention_heads, &made.bias, error)
                    : ROTARY_OK;
    if (status == ROTARY_OK)
        *encoding = made;
    return status;
}

void model_encoding_free(struct model_encoding *encoding)
{
    formula_bias_free(&encoding->bias);
    *encoding = (struct model_encoding){0};
}

struct distance_bias_settings model_encoding_bias_settings(const struct transformer_config *config,
                                                           const struct model_encoding *encoding)
{
    return (struct distance_bias_settings){.width = config->hidden_size,
                                           .options = model_encoding_options(config),
                                           .formula = &encoding->bias,
                                           .table = encoding->custom ? &encoding->custom->table : NULL};
}

rotary_status model_encoding_frequencies(const struct transformer_config *config, int64_t pairs,
                                         json_t **list, rotary_error *error)
{
    const struct custom_encoding *custom = model_encoding_custom(config);
    *list = NULL;
    return custom ? custom_encoding_frequencies(custom, pairs, list, error) : ROTARY_OK;
}

bool model_encoding_has_frequencies(const struct transformer_config *config)
{
    const struct custom_encoding *custom = model_encoding_custom(config);
    return custom && custom_encoding_has_frequencies(custom);
}

/* The initial bias at a few distances of each head. */
static rotary_status check_finite(const struct transformer_config *config,
                                  const struct model_encoding *encoding, int64_t distance,
                                  rotary_error *error)
{
    const struct formula_bias *bias = &encoding->bias;
    const struct distance_bias_shape shape = {.heads = config->num_attention_heads,
                                              .distances = 1,
                                              .first = distance,
                                              .settings = model_encoding_bias_settings(config, encoding)};
    const float *parameters[DISTANCE_BIAS_PARAMETERS];
    float values[TRANSFORMER_MAX_HEADS];
    for (int i = 0; i < bias->learned; i++)
        parameters[i] = bias->numbers[i].initial;
    encoding->terms->distance_bias->fill(&shape, parameters, values);
    for (int64_t head = 0; head < shape.heads; head++)
        if (!isfinite(values[head]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "position %s: \"bias\" is %g at distance %lld in head %lld, wanted a finite "
                               "number",
                               model_encoding_name(config), (double)values[head], (long long)distance,
                               (long long)head);
    return ROTARY_OK;
}

/* All distances up to 64, and then fewer and fewer, to the longest. */
static rotary_status check_bias(const struct transformer_config *config,
                                const struct model_encoding *encoding, rotary_error *error)
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
    const struct encoding_keys *keys = model_encoding(config)->keys;
    const union encoding_options options = model_encoding_options(config);
    struct model_encoding encoding;
    rotary_status status = keys && keys->check ? keys->check(&options, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = model_encoding_create(config, &encoding, error);
    if (status != ROTARY_OK)
        return status;
    if (encoding.bias.formula)
        status = check_bias(config, &encoding, error);
    model_encoding_free(&encoding);
    return status;
}
