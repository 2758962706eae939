/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/rotation_config.h"

#include "base/fail.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"

#include <math.h>

/* The fraction of a head for which the reader makes frequencies: that of queries and keys, or, where neither is
 * rotated, that of values, if there are pairs in it (derive_value_rope says what is wrong with it). */
static double fraction_of(const struct transformer_config *config, unsigned rotate)
{
    if (rotate & ROTATE_QUERY_KEY)
        return config->partial_rotary_factor;
    const int64_t channels = rope_config_channels(config->head_dim, config->value_fraction);
    return channels > 0 && channels % 2 == 0 ? config->value_fraction : 1.0;
}

/* Adds the frequencies of a configuration's custom encoding. */
static rotary_status add_frequencies(const struct transformer_config *config, double fraction, json_t *object,
                                     rotary_error *error)
{
    json_t *list;
    rotary_status status = model_encoding_frequencies(
        config, rope_config_channels(config->head_dim, fraction) / 2, &list, error);
    if (status == ROTARY_OK && list && json_object_set_new(object, "inverse_frequencies", list) != 0)
        status = rotary_fail_memory(error, "to read the rotation of a model");
    return status;
}

/* The configuration's keys as the object that the reader of rotations reads; the caller frees it. */
static rotary_status make_object(const struct transformer_config *config, unsigned rotate, json_t **object,
                                 rotary_error *error)
{
    const double fraction = fraction_of(config, rotate);
    json_t *made =
        json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:O?, s:O?}", "position",
                  model_encoding_name(config), "xpos_scale", config->xpos_scale, "head_dim",
                  (json_int_t)config->head_dim, "hidden_size", (json_int_t)config->hidden_size,
                  "num_attention_heads", (json_int_t)config->num_attention_heads, "num_key_value_heads",
                  (json_int_t)config->num_key_value_heads, "max_position_embeddings",
                  (json_int_t)transformer_positions(config), "rope_sequence_length",
                  (json_int_t)config->rope_sequence_length, "rope_theta", config->rope_theta,
                  "rope_local_base_freq", config->rope_local_base_freq, "partial_rotary_factor", fraction,
                  "pairing", rope_config_pairings[config->pairing], "rope_scaling", config->rope_scaling,
                  "rope_parameters", config->rope_parameters);
    if (!made)
        return rotary_fail_memory(error, "to read the rotation of a model");
    rotary_status status = add_frequencies(config, fraction, made, error);
    if (status == ROTARY_OK)
        *object = made;
    else
        json_decref(made);
    return status;
}

/* Whether rope_parameters has null for the layer type. */
static bool is_unrotated(const json_t *object, const char *layer_type)
{
    const json_t *parameters = json_object_get(object, "rope_parameters");
    return json_is_null(json_object_get(parameters, layer_type));
}

/* The rotation of values that are keys is that of keys. */
static rotary_status share_key_rope(const struct transformer_config *config, struct rotation_config *rotation,
                                    rotary_error *error)
{
    const rotary_rope_config *rope = &rotation->rope.plan;
    const char *key = config->rotate ? "rotate" : "position",
               *name = config->rotate ? rotate_names[config->rotate] : model_encoding_name(config);
    const int64_t channels = rope_config_channels(config->head_dim, config->value_fraction);
    const bool values = rotation->rotate & ROTARY_ROTATE_VALUE, keys = rotation->rotate & ROTARY_ROTATE_KEY;
    if (config->key_is_value == KEY_IS_VALUE_UNROTATED)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_is_value is unrotated, and %s %s rotates values: wanted key_is_value "
                           "true, or a position that rotates queries and keys alone, such as rope",
                           key, name);
    if (values && !keys)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_is_value is true, and %s %s rotates values but no keys, which are the "
                           "values: wanted key_is_value false, or keys that are rotated",
                           key, name);
    if (config->value_fraction != 1.0 && channels != rope->rotary_dim)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "value_fraction is %g with key_is_value true: wanted 1, as values are the keys, of "
            "which %lld of %lld channels are rotated",
            config->value_fraction, (long long)rope->rotary_dim, (long long)config->head_dim);
    rotation->value_rope = *rope;
    return ROTARY_OK;
}

/* The rotation of values has the frequencies of queries and keys, on its own share of a head. */
static rotary_status derive_value_rope(const struct transformer_config *config,
                                       struct rotation_config *rotation, rotary_error *error)
{
    const rotary_rope_config *rope = &rotation->rope.plan;
    rotary_rope_config *value = &rotation->value_rope;
    int64_t channels = rope_config_channels(config->head_dim, config->value_fraction);
    if (config->key_is_value == KEY_IS_VALUE_ROTATED ||
        (config->key_is_value == KEY_IS_VALUE_UNROTATED && (rotation->rotate & ROTARY_ROTATE_VALUE)))
        return share_key_rope(config, rotation, error);
    *value = *rope;
    if (channels == 0)
        rotation->rotate &= ROTATE_QUERY_KEY;
    if (channels % 2 != 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "value_fraction %g of head_dim %lld rotates %lld channels: wanted an even number, as "
            "channels are rotated in pairs",
            config->value_fraction, (long long)config->head_dim, (long long)channels);
    if (rope->scaling == ROTARY_SCALING_PROPORTIONAL) {
        value->rotary_fraction = config->value_fraction;
        return ROTARY_OK;
    }
    bool by_pair = rope->short_factors || rope->long_factors || rope->pair_factors ||
                   rope->inverse_frequencies || rope->axes != ROTARY_AXES_ONE;
    if (by_pair && channels > 0 && channels != rope->rotary_dim)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "value_fraction %g of head_dim %lld rotates %lld channels: wanted %lld, as of "
                           "queries and keys, whose rotation has a list with a number for each pair",
                           config->value_fraction, (long long)config->head_dim, (long long)channels,
                           (long long)rope->rotary_dim);
    value->rotary_dim = channels;
    if (rope->rotary_start > 0) /* "span": "back" */
        value->rotary_start = config->head_dim - channels;
    return ROTARY_OK;
}

/* Magnitudes are exp(ln(zeta) (p - origin) / scale), and ln(0.4 / 1.4) is the largest of ln(zeta). Up to this
 * power the product of a query's and a key's does not overflow in f32. */
#define MAX_XPOS_POWER 40.0

static rotary_status check_xpos(const struct transformer_config *config, const rotary_rope_config *plan,
                                rotary_error *error)
{
    double last = (double)(transformer_positions(config) - 1),
           away = fmax(fabs(plan->xpos_origin), fabs(last - plan->xpos_origin)), power = log(3.5) * away;
    if (power <= MAX_XPOS_POWER * plan->xpos_scale)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "xpos_scale is %g, by which magnitudes of %lld positions would reach "
                       "e^%.3g: wanted an xpos_scale of at least %g",
                       plan->xpos_scale, (long long)transformer_positions(config), power / plan->xpos_scale,
                       ceil(power / MAX_XPOS_POWER));
}

static rotary_status read_rotation(const struct transformer_config *config, const json_t *object,
                                   const char *layer_type, struct rotation_config *rotation,
                                   rotary_error *error)
{
    const struct rope_config_request request = {
        .layer_type = layer_type, .of_settings = true, .scales_queries = true};
    rotary_error wrong = {0};
    rotary_status status = rope_config_parse(object, "the configuration", &request, &rotation->rope, &wrong);
    if (status != ROTARY_OK)
        return rotary_fail(error, status == ROTARY_BAD_FILE ? ROTARY_INVALID_ARGUMENT : status, "%s",
                           wrong.message);
    rotary_rope_config_drop_unread(&rotation->rope.plan);
    status = rotation->rotate & ROTATE_VALUE_OUTPUT ? derive_value_rope(config, rotation, error) : ROTARY_OK;
    rotation->rope.plan.query_scale_beta = rotation->rope.query_scale.beta;
    rotation->rope.plan.query_scale_length = rotation->rope.query_scale.length;
    rotation->rope.plan.query_scale_offset = rotation->rope.query_scale.offset;
    if (status == ROTARY_OK && rotation->rope.query_scale.beta > 0 &&
        !(rotation->rotate & ROTARY_ROTATE_QUERY))
        status = rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "queries grow with their position (\"llama_4_scaling_beta\"), and rotate %s has no q: "
            "wanted one with q",
            rotate_names[model_rotates(config)]);
    if (status == ROTARY_OK && rotation->rope.plan.xpos_scale > 0)
        status = check_xpos(config, &rotation->rope.plan, error);
    if (status != ROTARY_OK)
        rope_config_free(&rotation->rope);
    return status;
}

rotary_status rotation_config_read(const struct transformer_config *config, const char *layer_type,
                                   struct rotation_config *rotation, rotary_error *error)
{
    struct rotation_config made = {0};
    bool plain = !config->rope_scaling && !config->rope_parameters;
    bool no_channel = plain && rope_config_channels(config->head_dim, config->partial_rotary_factor) == 0;
    const unsigned rotate = model_rotates(config) & (no_channel ? ROTATE_VALUE_OUTPUT : ROTATE_ALL);
    json_t *object = NULL;
    rotary_status status = ROTARY_OK;
    if (rotate)
        status = make_object(config, rotate, &object, error);
    if (status == ROTARY_OK && object && !is_unrotated(object, layer_type)) {
        made.rotate = rotate;
        status = read_rotation(config, object, layer_type, &made, error);
    }
    json_decref(object);
    if (status == ROTARY_OK)
        *rotation = made;
    return status;
}

void rotation_config_free(struct rotation_config *rotation)
{
    rope_config_free(&rotation->rope);
    *rotation = (struct rotation_config){0};
}
