/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/decoder_config.h"

#include "base/fail.h"
#include "huggingface/decoder_family.h"
#include "layer/encoding.h"
#include "model/config_check.h"

#include <string.h>

enum { MAX_LAYERS = 1024 };

/* What is read: the file's object, its family, and the object of this program's keys that they become. */
struct reading {
    const json_t *object, *family;
    const char *path;
    json_t *model;
    rotary_error *error;
};

static rotary_status fail_memory(const struct reading *reading)
{
    return rotary_fail(reading->error, ROTARY_OUT_OF_MEMORY, "no memory to read %s", reading->path);
}

/* The value of a key of config.json, or else the family's default; NULL: neither, or null. */
static json_t *value_of(const struct reading *reading, const char *key)
{
    json_t *value = json_object_get(reading->object, key);
    if (!value)
        value = json_object_get(json_object_get(reading->family, "defaults"), key);
    return json_is_null(value) ? NULL : value;
}

static bool set(const struct reading *reading, const char *key, json_t *value)
{
    return json_object_set_new(reading->model, key, value) == 0;
}

/* ---- what is refused ---- */

static rotary_status check_quantisation(const struct reading *reading)
{
    const json_t *quantised = json_object_get(reading->object, "quantization_config");
    const char *method = json_string_value(json_object_get(quantised, "quant_method"));
    if (!quantised || json_is_null(quantised))
        return ROTARY_OK;
    return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                       "%s: \"quantization_config\": weights are quantised (%.60s), wanted F32, F16 or BF16",
                       reading->path, method ? method : "by a method without a name");
}

/* A causal language model, by the class that config.json names first, if it does. */
static rotary_status check_architecture(const struct reading *reading)
{
    const char *name =
        json_string_value(json_array_get(json_object_get(reading->object, "architectures"), 0));
    const char *wanted = json_string_value(json_object_get(reading->family, "architecture"));
    if (!name || strcmp(name, wanted) == 0)
        return ROTARY_OK;
    return rotary_fail(reading->error, ROTARY_UNSUPPORTED, "%s: \"architectures\" names %.80s, wanted %s",
                       reading->path, name, wanted);
}

static rotary_status check_refused(const struct reading *reading)
{
    json_t *refused = json_object_get(reading->family, "refused");
    const char *key;
    json_t *why;
    json_object_foreach (refused, key, why) {
        const json_t *value = json_object_get(reading->object, key);
        if (value && !json_is_null(value) && !json_is_false(value))
            return rotary_fail(reading->error, ROTARY_UNSUPPORTED, "%s: \"%s\" is set: %s", reading->path,
                               key, json_string_value(why));
    }
    return ROTARY_OK;
}

/* Sizes have no default that means anything. */
static rotary_status check_sizes(const struct reading *reading)
{
    static const char *const sizes[] = {"vocab_size", "hidden_size", "num_hidden_layers",
                                        "num_attention_heads", "intermediate_size"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (!value_of(reading, sizes[i]))
            return rotary_fail(reading->error, ROTARY_BAD_FILE, "%s: has no \"%s\", wanted a number",
                               reading->path, sizes[i]);
    return ROTARY_OK;
}

/* ---- what is read ---- */

/* Keys of the same name and meaning. */
static const char *const same_keys[] = {
    "vocab_size",          "hidden_size",       "num_hidden_layers",     "num_attention_heads",
    "num_key_value_heads", "head_dim",          "intermediate_size",     "max_position_embeddings",
    "tie_word_embeddings", "initializer_range", "attention_dropout",     "rope_theta",
    "rope_scaling",        "rope_parameters",   "partial_rotary_factor", NULL};

static rotary_status read_keys(const struct reading *reading)
{
    bool complete = json_object_update(reading->model, json_object_get(reading->family, "model")) == 0;
    for (int i = 0; same_keys[i] && complete; i++) {
        json_t *value = value_of(reading, same_keys[i]);
        if (value)
            complete = json_object_set(reading->model, same_keys[i], value) == 0;
    }
    json_t *keys = json_object_get(reading->family, "keys");
    const char *ours;
    json_t *theirs;
    json_object_foreach (keys, ours, theirs) {
        json_t *value = value_of(reading, json_string_value(theirs));
        if (value && complete)
            complete = json_object_set(reading->model, ours, value) == 0;
    }
    return complete ? ROTARY_OK : fail_memory(reading);
}

/* transformers' names of activations, and this program's without and with a gate; NULL: there is none. */
static const struct {
    const char *theirs, *plain, *gated;
} activations[] = {
    {"relu", "relu", NULL},
    {"gelu", "gelu", NULL},
    {"gelu_new", "gelu_tanh", "geglu_tanh"},
    {"gelu_fast", "gelu_tanh", "geglu_tanh"},
    {"gelu_pytorch_tanh", "gelu_tanh", "geglu_tanh"},
    {"silu", NULL, "swiglu"},
    {"swish", NULL, "swiglu"},
};

static rotary_status read_activation(const struct reading *reading)
{
    const char *named = json_string_value(json_object_get(reading->family, "activation"));
    const char *key = named ? named : "hidden_act";
    const bool gated = json_is_true(json_object_get(reading->family, "gated"));
    const json_t *value = value_of(reading, key);
    const char *name = value ? json_string_value(value) : gated ? "silu" : "gelu";
    const char *ours = NULL;
    for (size_t i = 0; name && i < sizeof activations / sizeof activations[0]; i++)
        if (strcmp(activations[i].theirs, name) == 0)
            ours = gated ? activations[i].gated : activations[i].plain;
    if (!ours)
        return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                           "%s: \"%s\" is %.60s, which no feed-forward layer of this program %s has",
                           reading->path, key, name ? name : "no text",
                           gated ? "with a gate" : "without a gate");
    return set(reading, "hidden_act", json_string(ours)) ? ROTARY_OK : fail_memory(reading);
}

static bool is_type(const json_t *scaling, const char *name)
{
    const json_t *type = json_object_get(scaling, "rope_type");
    const char *text = json_string_value(type ? type : json_object_get(scaling, "type"));
    return text && strcmp(text, name) == 0;
}

/* One rotation for all layers: a context length before scaling that stands beside the parameters replaces
 * the one within them, and dynamic NTK has none but max_position_embeddings. */
static bool settle_original(const struct reading *reading, json_t *scaling)
{
    static const char key[] = "original_max_position_embeddings";
    json_t *beside = value_of(reading, key);
    if (is_type(scaling, "dynamic")) {
        json_object_del(scaling, key);
        return true;
    }
    const bool reads = is_type(scaling, "yarn") || is_type(scaling, "llama3") ||
                       is_type(scaling, "longrope") || is_type(scaling, "su");
    return !reads || !beside || json_object_set(scaling, key, beside) == 0;
}

/* Parameters by layer type: YaRN's "truncate" is read beside them alone. False: there are none. */
static bool settle_layer_types(json_t *parameters)
{
    bool found = false;
    const char *name;
    json_t *entry;
    json_object_foreach (parameters, name, entry)
        if (json_is_object(entry)) {
            json_object_del(entry, "truncate");
            found = true;
        }
    return found;
}

/* Moves what transformers reads beside the parameters of the rotation, or does not read in them, to where the
 * models of this program have it. */
static rotary_status read_rotation(const struct reading *reading)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    bool complete = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && complete; i++) {
        json_t *given = json_object_get(reading->model, keys[i]);
        if (!json_is_object(given))
            continue;
        json_t *settled = json_deep_copy(given);
        complete = settled && (settle_layer_types(settled) || settle_original(reading, settled)) &&
                   json_object_set(reading->model, keys[i], settled) == 0;
        json_decref(settled);
    }
    return complete ? ROTARY_OK : fail_memory(reading);
}

static rotary_status read_parallel(const struct reading *reading)
{
    const json_t *parallel = value_of(reading, "use_parallel_residual");
    if (!json_is_true(parallel))
        return ROTARY_OK;
    return set(reading, "parallel_residual", json_string("two_norms")) ? ROTARY_OK : fail_memory(reading);
}

/* ---- sliding windows ---- */

static int64_t number_of(const struct reading *reading, const char *key, int64_t otherwise)
{
    const json_t *value = value_of(reading, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

/* Whether a layer has a window, in a file without "layer_types". */
static bool slides(const struct reading *reading, const char *windows, int64_t layer)
{
    if (strcmp(windows, "flag") == 0)
        return layer >= number_of(reading, "max_window_layers", 0);
    const int64_t pattern = number_of(reading, "sliding_window_pattern", 1);
    return strcmp(windows, "all") == 0 || pattern < 1 || (layer + 1) % pattern != 0;
}

/* "layer_types" as the file has them, or as the family says; NULL without memory. */
static json_t *layer_types_of(const struct reading *reading, const char *windows, int64_t layers)
{
    json_t *types = value_of(reading, "layer_types");
    if (types)
        return json_incref(types);
    types = json_array();
    for (int64_t layer = 0; types && layer < layers; layer++) {
        const char *name = slides(reading, windows, layer) ? "sliding_attention" : "full_attention";
        if (json_array_append_new(types, json_string(name)) != 0) {
            json_decref(types);
            return NULL;
        }
    }
    return types;
}

static bool has_sliding(const json_t *types)
{
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (type && strcmp(type, "sliding_attention") == 0)
            return true;
    }
    return false;
}

static rotary_status read_windows(const struct reading *reading)
{
    const char *windows = json_string_value(json_object_get(reading->family, "windows"));
    json_t *window = value_of(reading, "sliding_window"), *local = value_of(reading, "rope_local_base_freq");
    const int64_t layers = number_of(reading, "num_hidden_layers", 0);
    if (!windows || !window || layers < 1 || layers > MAX_LAYERS ||
        (strcmp(windows, "flag") == 0 && !json_is_true(value_of(reading, "use_sliding_window"))))
        return ROTARY_OK;
    json_t *types = layer_types_of(reading, windows, layers);
    bool complete = types != NULL;
    if (complete && (!json_is_array(types) || has_sliding(types))) {
        complete = json_object_set(reading->model, "layer_types", types) == 0 &&
                   json_object_set(reading->model, "sliding_window", window) == 0;
        if (complete && local && !json_object_get(reading->model, "rope_parameters"))
            complete = json_object_set(reading->model, "rope_local_base_freq", local) == 0;
    }
    json_decref(types);
    return complete ? ROTARY_OK : fail_memory(reading);
}

/* ---- all of it ---- */

static rotary_status read_all(const struct reading *reading, struct transformer_config *model)
{
    rotary_status (*const steps[])(const struct reading *reading) = {
        check_quantisation, check_architecture, check_refused, check_sizes,  read_keys,
        read_activation,    read_rotation,      read_parallel, read_windows,
    };
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; status == ROTARY_OK && i < sizeof steps / sizeof steps[0]; i++)
        status = steps[i](reading);
    if (status != ROTARY_OK)
        return status;
    struct transformer_config made;
    transformer_config_default(&made);
    made.position = POSITION_ROPE;
    const struct settings settings = transformer_settings(&made);
    status = settings_read(&settings, 1, reading->model, reading->path, reading->error);
    if (status == ROTARY_OK) {
        rotary_error wrong = {0};
        status = transformer_config_check(&made, &wrong);
        if (status != ROTARY_OK)
            return rotary_fail(reading->error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status,
                               "%s: %.400s", reading->path, wrong.message);
    }
    if (status == ROTARY_OK)
        *model = made;
    return status;
}

bool decoder_config_is(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    json_t *family = NULL;
    bool found = type && decoder_family_find(type, &family, NULL) == ROTARY_OK && family;
    json_decref(family);
    return found;
}

rotary_status decoder_config_read(const json_t *object, const char *path, struct transformer_config *model,
                                  json_t **family, rotary_error *error)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    json_t *found = NULL;
    rotary_status status = type ? decoder_family_find(type, &found, error) : ROTARY_OK;
    if (status == ROTARY_OK && !found) {
        char names[DECODER_FAMILY_NAMES_BYTES];
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s: \"model_type\" is %.60s, wanted %s", path,
                           type ? type : "not there", decoder_family_names(names));
    }
    if (status != ROTARY_OK)
        return status;
    const struct reading reading = {
        .object = object, .family = found, .path = path, .model = json_object(), .error = error};
    status = reading.model ? read_all(&reading, model) : fail_memory(&reading);
    json_decref(reading.model);
    if (status == ROTARY_OK)
        *family = found;
    else
        json_decref(found);
    if (status == ROTARY_INVALID_ARGUMENT && error)
        error->status = ROTARY_BAD_FILE;
    return status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status;
}
