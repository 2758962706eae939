/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/contradictions.h"

#include "base/fail.h"
#include "file/file.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"
#include "model/encoding/rotation_config.h"
#include "rope_config/rope_config.h"

#include <stdlib.h>
#include <string.h>

/* ---- the rotation ---- */

/* A fraction of a head that is above 0 and rotates no channel. */
static rotary_status check_fraction(const struct transformer_config *model, const char *key, double fraction,
                                    rotary_error *error)
{
    long long head_dim = (long long)model->head_dim;
    if (fraction == 0 || rope_config_channels(head_dim, fraction) > 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s is %g, and that of head_dim %lld is less than a channel: wanted at least %g, or 0",
                       key, fraction, head_dim, 2.0 / (double)head_dim);
}

/* What a key of the model and a key of rope_scaling or rope_parameters both set. `is_set`: the model's key
 * has another value than its default. */
struct pair {
    const char *key;
    bool is_set;
    const json_t *value;
};

static rotary_status check_pair(const struct pair *pair, const char *within, const json_t *parameters,
                                rotary_error *error)
{
    const json_t *inner = json_object_get(parameters, "rope_theta");
    if (strcmp(pair->key, "rope_local_base_freq") != 0)
        inner = json_object_get(parameters, pair->key);
    bool same = json_is_number(inner) ? json_number_value(inner) == json_number_value(pair->value)
                                      : json_equal(inner, pair->value);
    if (!pair->is_set || !inner || json_is_null(inner) || same)
        return ROTARY_OK;
    char *outer_text = file_json_text(pair->value, JSON_ENCODE_ANY);
    char *inner_text = file_json_text(inner, JSON_ENCODE_ANY | JSON_COMPACT);
    rotary_status status =
        rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %.60s, and %s has %.60s: wanted one of the two",
                    pair->key, outer_text ? outer_text : "?", within, inner_text ? inner_text : "?");
    free(outer_text);
    free(inner_text);
    return status;
}

/* Refuses two values of one thing: rope_theta 5 beside {"rope_theta": 7}. */
static rotary_status check_twice(const struct transformer_config *model, const char *within,
                                 const json_t *object, rotary_error *error)
{
    json_t *settings =
        json_pack("{s:f, s:f, s:s, s:f, s:f}", "rope_theta", model->rope_theta, "partial_rotary_factor",
                  model->partial_rotary_factor, "pairing", rope_config_pairings[model->pairing],
                  "rope_local_base_freq", model->rope_local_base_freq, "xpos_scale", model->xpos_scale);
    if (!settings)
        return rotary_fail_memory(error, "to check the rotation of a model");
    struct transformer_config usual;
    transformer_config_default(&usual);
    const struct pair pairs[] = {
        {"rope_theta", model->rope_theta != usual.rope_theta, json_object_get(settings, "rope_theta")},
        {"partial_rotary_factor", model->partial_rotary_factor != usual.partial_rotary_factor,
         json_object_get(settings, "partial_rotary_factor")},
        {"pairing", model->pairing != usual.pairing, json_object_get(settings, "pairing")},
        {"xpos_scale", model->xpos_scale != usual.xpos_scale, json_object_get(settings, "xpos_scale")},
    };
    const json_t *full = json_object_get(object, "full_attention"); /* by layer type, or for all layers */
    full = full ? full : object;
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; status == ROTARY_OK && i < sizeof pairs / sizeof pairs[0]; i++)
        status = check_pair(&pairs[i], within, full, error);
    const struct pair local = {"rope_local_base_freq", model->rope_local_base_freq > 0,
                               json_object_get(settings, "rope_local_base_freq")};
    if (status == ROTARY_OK)
        status = check_pair(&local, within, json_object_get(object, "sliding_attention"), error);
    json_decref(settings);
    return status;
}

/* Keys of a rotation's parameters that one scaling alone reads. */
static const struct {
    const char *key, *type;
} scaling_keys[] = {
    {"beta_fast", "yarn"},         {"beta_slow", "yarn"},          {"mscale", "yarn"},
    {"mscale_all_dim", "yarn"},    {"truncate", "yarn"},           {"short_factor", "longrope"},
    {"long_factor", "longrope"},   {"short_mscale", "longrope"},   {"long_mscale", "longrope"},
    {"low_freq_factor", "llama3"}, {"high_freq_factor", "llama3"},
};

/* Refuses keys that the scaling of `parameters` does not read: beta_fast with linear. */
static rotary_status check_scaling(const char *within, const json_t *parameters, rotary_error *error)
{
    const json_t *named = json_object_get(parameters, "rope_type");
    named = named ? named : json_object_get(parameters, "type");
    const char *type = json_is_string(named) ? json_string_value(named) : "default";
    if (strcmp(type, "default") == 0 && json_is_number(json_object_get(parameters, "factor")))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has a factor, and its rope_type is default: wanted a rope_type that scales",
                           within);
    for (size_t i = 0; i < sizeof scaling_keys / sizeof scaling_keys[0]; i++) {
        const json_t *value = json_object_get(parameters, scaling_keys[i].key);
        if (value && !json_is_null(value) && !strstr(type, scaling_keys[i].type) &&
            !(strcmp(type, "su") == 0 && strcmp(scaling_keys[i].type, "longrope") == 0))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s has %s, and its rope_type is %.60s: wanted rope_type %s", within,
                               scaling_keys[i].key, type, scaling_keys[i].type);
    }
    return ROTARY_OK;
}

/* Checks rope_scaling or rope_parameters, whose value is `object`, or NULL. */
static rotary_status check_object(const struct transformer_config *model, const char *within,
                                  const json_t *object, rotary_error *error)
{
    rotary_status status = check_twice(model, within, object, error);
    if (status == ROTARY_OK)
        status = check_scaling(within, object, error);
    const char *layer_type;
    json_t *entry;
    json_object_foreach ((json_t *)(uintptr_t)object, layer_type, entry)
        if (status == ROTARY_OK && json_is_object(entry))
            status = check_scaling(within, entry, error);
    return status;
}

/* ---- layers ---- */

/* Whether any layer rotates. Lists have an entry for each layer, as attention_plans_check has found. */
static bool rotates(const struct transformer_config *model)
{
    const json_t *parameters = model->rope_parameters;
    if (transformer_has_encoder(model) && !json_is_null(json_object_get(parameters, "full_attention")))
        return true; /* the encoder's layers */
    for (int64_t layer = 0; layer < model->num_hidden_layers; layer++) {
        const json_t *flag = json_array_get(model->no_rope_layers, (size_t)layer);
        const char *type = json_string_value(json_array_get(model->layer_types, (size_t)layer));
        if (!type)
            type = model->sliding_window > 0 ? "sliding_attention" : "full_attention";
        bool left_out = flag && json_integer_value(flag) == 0;
        if (!left_out && !json_is_null(json_object_get(parameters, type)))
            return true;
    }
    return false;
}

static rotary_status check_layers(const struct transformer_config *model, rotary_error *error)
{
    return rotates(model)
               ? ROTARY_OK
               : rotary_fail(
                     error, ROTARY_INVALID_ARGUMENT,
                     "position is %s, and by no_rope_layers or rope_parameters no layer rotates: wanted a "
                     "layer that does, or position none",
                     model_encoding_name(model));
}

/* The encoder, and cross-attention that rotates, rotate as layers of type full_attention do. */
static rotary_status check_cross(const struct transformer_config *model, rotary_error *error)
{
    struct rotation_config rotation;
    if (!transformer_has_encoder(model) || !model->cross_rotary)
        return ROTARY_OK;
    rotary_status status = rotation_config_read(model, "full_attention", &rotation, error);
    bool rotates = status == ROTARY_OK && (rotation.rotate & ROTATE_QUERY_KEY);
    if (status == ROTARY_OK)
        rotation_config_free(&rotation);
    if (status != ROTARY_OK || rotates)
        return status;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "cross_rotary is true, and full_attention rotates no channels of queries and keys: "
                       "wanted cross_rotary false, or a rotation");
}

/* What `rotate` must not say beside a position whose name says it. */
static rotary_status check_rotate(const struct transformer_config *model, rotary_error *error)
{
    const struct position_encoding *encoding = model_encoding(model);
    const unsigned rotate = model_rotates(model);
    if (model->position == POSITION_ROPER && rotate != encoding->rotate)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "position is roper, which rotates %s, and rotate is %s: wanted position rope with it",
            rotate_names[encoding->rotate], rotate_names[rotate]);
    if (encoding->xpos && (rotate & ROTATE_QUERY_KEY) != ROTATE_QUERY_KEY)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "position is %s, whose magnitudes are of queries and keys, and rotate is %s: wanted one "
            "with q and k, or position rope",
            model_encoding_name(model), rotate_names[rotate]);
    return ROTARY_OK;
}

static rotary_status check_rotation(const struct transformer_config *model, rotary_error *error)
{
    rotary_status status = check_rotate(model, error);
    if (status == ROTARY_OK)
        status = check_fraction(model, "partial_rotary_factor", model->partial_rotary_factor, error);
    if (status == ROTARY_OK && (model_rotates(model) & ROTATE_VALUE_OUTPUT))
        status = check_fraction(model, "value_fraction", model->value_fraction, error);
    if (status == ROTARY_OK)
        status = check_object(model, "rope_scaling", model->rope_scaling, error);
    if (status == ROTARY_OK)
        status = check_object(model, "rope_parameters", model->rope_parameters, error);
    if (status == ROTARY_OK)
        status = check_cross(model, error);
    return status == ROTARY_OK ? check_layers(model, error) : status;
}

static rotary_status check_window(const struct transformer_config *model, rotary_error *error)
{
    if (model->sliding_window == 0 || !model->layer_types ||
        transformer_names_layer_type(model, "sliding_attention"))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "sliding_window is %lld, and layer_types has no sliding_attention: wanted a layer of "
                       "that type, or sliding_window 0",
                       (long long)model->sliding_window);
}

static rotary_status check_shared_keys(const struct transformer_config *model, rotary_error *error)
{
    if (model->key_is_value != KEY_IS_VALUE_UNROTATED || (model_rotates(model) & ROTARY_ROTATE_KEY))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "key_is_value is unrotated, and %s %s rotates no keys: wanted true, which is the "
                       "same there",
                       model->rotate ? "rotate" : "position",
                       model->rotate ? rotate_names[model->rotate] : model_encoding_name(model));
}

rotary_status contradictions_check(const struct transformer_config *model, rotary_error *error)
{
    rotary_status status = model_rotates(model) ? check_rotation(model, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = check_shared_keys(model, error);
    return status == ROTARY_OK ? check_window(model, error) : status;
}
