/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/decoder_config.h"

#include "base/fail.h"
#include "file/file.h"
#include "huggingface/config_keys.h"
#include "huggingface/decoder_family.h"
#include "layer/encoding/encoding.h"
#include "model/config_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 1024 };

/* What is read: the file's object, its family, and the object of this program's keys that they become. */
struct reading {
    const json_t *object, *family;
    const char *path;
    json_t *model;
    rotary_error *error;
};

/* The value of a key of config.json, or else the family's default; NULL: neither, or null. */
static json_t *value_of(const struct reading *reading, const char *key)
{
    json_t *value = json_object_get(reading->object, key);
    if (!value)
        value = json_object_get(json_object_get(reading->family, "defaults"), key);
    return json_is_null(value) ? NULL : value;
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

/* Models of other types do not read the key by which queries grow with their position. */
static rotary_status check_query_scale(const struct reading *reading, const json_t *parameters)
{
    static const char key[] = "llama_4_scaling_beta";
    const json_t *beta = json_object_get(parameters, key);
    if (!beta || json_is_null(beta) || (json_is_number(beta) && json_number_value(beta) == 0) ||
        json_is_true(json_object_get(reading->family, "scales_queries")))
        return ROTARY_OK;
    char *text = file_json_text(beta, JSON_ENCODE_ANY | JSON_COMPACT);
    rotary_status status =
        rotary_fail(reading->error, ROTARY_BAD_FILE,
                    "%s: \"%s\" is %.60s, wanted 0: models of this type multiply no query by "
                    "a number that grows with its position",
                    reading->path, key, text);
    free(text);
    return status;
}

/* Also keys that stand in the parameters of the rotation, or in those of layer types. */
static rotary_status check_refused(const struct reading *reading)
{
    static const char *const inside[] = {"rope_scaling", "rope_parameters"};
    const char *type = json_string_value(json_object_get(reading->object, "model_type"));
    rotary_status status = config_keys_check(reading->object, "decoder", type, reading->path, reading->error);
    for (size_t i = 0; status == ROTARY_OK && i < sizeof inside / sizeof inside[0]; i++) {
        json_t *parameters = json_object_get(reading->object, inside[i]);
        status = config_keys_check(parameters, "parameters", type, reading->path, reading->error);
        if (status == ROTARY_OK)
            status = check_query_scale(reading, parameters);
        const char *name;
        json_t *entry;
        json_object_foreach (parameters, name, entry)
            if (status == ROTARY_OK)
                status = config_keys_check(entry, "parameters", type, reading->path, reading->error);
    }
    return status;
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
    json_object_update(reading->model, json_object_get(reading->family, "model"));
    for (int i = 0; same_keys[i]; i++) {
        json_t *value = value_of(reading, same_keys[i]);
        /* A family's rotation is that of files that describe none. */
        if (strcmp(same_keys[i], "rope_parameters") == 0 && json_object_get(reading->model, "rope_scaling"))
            value = json_object_get(reading->object, same_keys[i]);
        if (value)
            json_object_set(reading->model, same_keys[i], value);
    }
    json_t *keys = json_object_get(reading->family, "keys");
    const char *ours;
    json_t *theirs;
    json_object_foreach (keys, ours, theirs) {
        json_t *value = value_of(reading, json_string_value(theirs));
        if (value)
            json_object_set(reading->model, ours, value);
    }
    return ROTARY_OK;
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
    json_object_set_new(reading->model, "hidden_act", json_string(ours));
    return ROTARY_OK;
}

/* May be NULL. */
static const char *type_of(const json_t *scaling)
{
    const json_t *type = json_object_get(scaling, "rope_type");
    return json_string_value(type ? type : json_object_get(scaling, "type"));
}

static bool is_type(const json_t *scaling, const char *name)
{
    const char *type = type_of(scaling);
    return type && strcmp(type, name) == 0;
}

/* One rotation for all layers: a context length before scaling that stands beside the parameters replaces
 * the one within them, and dynamic NTK has none but max_position_embeddings. */
static void settle_original(const struct reading *reading, json_t *scaling)
{
    static const char key[] = "original_max_position_embeddings";
    json_t *beside = value_of(reading, key);
    if (is_type(scaling, "dynamic")) {
        json_object_del(scaling, key);
        return;
    }
    const char *now = json_string_value(json_object_get(json_object_get(reading->family, "rope_types"),
                                                        type_of(scaling) ? type_of(scaling) : ""));
    if (now)
        json_object_set_new(scaling, "rope_type", json_string(now));
    const bool reads = is_type(scaling, "yarn") || is_type(scaling, "llama3") ||
                       is_type(scaling, "longrope") || is_type(scaling, "su");
    if (reads && beside)
        json_object_set(scaling, key, beside);
}

/* Gives the parameters of a layer type their base, where they have none; and a layer type that has none its
 * rotation without scaling. */
static void complete_layer_type(json_t *parameters, const char *name, json_t *base)
{
    if (!json_is_object(json_object_get(parameters, name)))
        json_object_set_new(parameters, name, json_object());
    json_t *entry = json_object_get(parameters, name);
    if (base && !json_object_get(entry, "rope_theta"))
        json_object_set(entry, "rope_theta", base);
}

/* Whether layer types of the family have bases of their own (Gemma 3). */
static bool has_two_bases(const struct reading *reading)
{
    return json_object_get(json_object_get(reading->family, "defaults"), "rope_local_base_freq") != NULL;
}

/* A family with two bases has parameters by layer type always: others are not read. */
static void complete_layer_types(const struct reading *reading, json_t *parameters)
{
    if (!has_two_bases(reading))
        return;
    complete_layer_type(parameters, "full_attention", value_of(reading, "rope_theta"));
    complete_layer_type(parameters, "sliding_attention", value_of(reading, "rope_local_base_freq"));
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

static bool has_objects(json_t *parameters)
{
    const char *name;
    json_t *entry;
    json_object_foreach (parameters, name, entry)
        if (json_is_object(entry))
            return true;
    return false;
}

/* Refuses parameters by layer type where the family has none, and the other way round. "rope_scaling" is that
 * of full attention. */
static rotary_status check_parameters(const struct reading *reading, const char *key, json_t *parameters)
{
    const bool two = has_two_bases(reading), typed = has_objects(parameters);
    const bool one = !typed && strcmp(key, "rope_parameters") == 0 && json_object_size(parameters) > 0;
    if (!two && typed)
        return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                           "%s: \"%s\" has parameters by layer type, which models of this type do not "
                           "have: wanted those of all layers",
                           reading->path, key);
    if (two && one)
        return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                           "%s: \"%s\" has one rotation for all layers, which models of this type do not "
                           "have: wanted an object for each layer type",
                           reading->path, key);
    return ROTARY_OK;
}

/* Moves what transformers reads beside the parameters of the rotation, or does not read in them, to where the
 * models of this program have it. */
static rotary_status read_rotation(const struct reading *reading)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *given = json_object_get(reading->model, keys[i]);
        if (!json_is_object(given))
            continue;
        rotary_status status = check_parameters(reading, keys[i], given);
        if (status != ROTARY_OK)
            return status;
        json_t *settled = json_deep_copy(given);
        if (i > 0)
            complete_layer_types(reading, settled);
        if (!settle_layer_types(settled))
            settle_original(reading, settled);
        json_object_set_new(reading->model, keys[i], settled);
    }
    return ROTARY_OK;
}

static rotary_status read_parallel(const struct reading *reading)
{
    if (json_is_true(value_of(reading, "use_parallel_residual")))
        json_object_set_new(reading->model, "parallel_residual", json_string("two_norms"));
    return ROTARY_OK;
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
    const char *key = json_string_value(json_object_get(reading->family, "window_pattern_key"));
    const json_t *own = json_object_get(reading->family, "window_pattern");
    const int64_t pattern = number_of(reading, key ? key : "", json_integer_value(own));
    return strcmp(windows, "all") == 0 || pattern < 1 || (layer + 1) % pattern != 0;
}

/* "layer_types" as the file has them, or as the family says. Where all layers have the
 * window, transformers does not look at those of the file. */
static json_t *layer_types_of(const struct reading *reading, const char *windows, int64_t layers)
{
    json_t *types = value_of(reading, "layer_types");
    if (types)
        return json_incref(types);
    types = json_array();
    for (int64_t layer = 0; layer < layers; layer++) {
        const char *name = slides(reading, windows, layer) ? "sliding_attention" : "full_attention";
        json_array_append_new(types, json_string(name));
    }
    return types;
}

static bool is_sliding(const json_t *type)
{
    const char *name = json_string_value(type);
    return name && strcmp(name, "sliding_attention") == 0;
}

static size_t count_sliding(const json_t *types)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(types); i++)
        count += is_sliding(json_array_get(types, i));
    return count;
}

/* Refuses a file that says that some layers have no window, where the model type gives it to all. */
static rotary_status check_types(const struct reading *reading, const char *windows, const json_t *types)
{
    if (strcmp(windows, "all") != 0 || !json_is_array(types) ||
        count_sliding(types) == json_array_size(types))
        return ROTARY_OK;
    return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                       "%s: \"layer_types\" has other layers than sliding_attention beside a "
                       "\"sliding_window\", which all layers of this model type have: wanted no "
                       "\"layer_types\", or \"sliding_window\" null",
                       reading->path);
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
    rotary_status status = check_types(reading, windows, types);
    if (status == ROTARY_OK && (!json_is_array(types) || count_sliding(types) > 0)) {
        json_object_set(reading->model, "layer_types", types);
        json_object_set(reading->model, "sliding_window", window);
        if (local && has_two_bases(reading) && !json_object_get(reading->model, "rope_parameters"))
            json_object_set(reading->model, "rope_local_base_freq", local);
    }
    json_decref(types);
    return status;
}

/* ---- all of it ---- */

/* Without "is_causal", which may be null too, every token sees all others: in this program, an encoder. */
static rotary_status read_causal(const struct reading *reading)
{
    const json_t *causal = json_object_get(reading->object, "is_causal");
    if (!causal || json_is_true(causal))
        return ROTARY_OK;
    if (!json_is_false(causal) && !json_is_null(causal))
        return rotary_fail(reading->error, ROTARY_BAD_FILE, "%s: \"is_causal\" is no boolean, wanted one",
                           reading->path);
    if (json_object_get(reading->model, "sliding_window"))
        return rotary_fail(reading->error, ROTARY_UNSUPPORTED,
                           "%s: \"is_causal\" is false, and layers have a \"sliding_window\": no window here "
                           "has both sides, wanted \"sliding_window\" null or a causal model",
                           reading->path);
    json_object_set_new(reading->model, "architecture", json_string("encoder"));
    return ROTARY_OK;
}

/* Checks the settings that have another name in the file, by that name. */
static rotary_status check_named(const struct reading *reading, const struct settings *settings)
{
    json_t *keys = json_object_get(reading->family, "keys");
    const char *ours;
    json_t *theirs;
    rotary_status status = ROTARY_OK;
    json_object_foreach (keys, ours, theirs) {
        void *member;
        json_t *value = json_object_get(reading->model, ours);
        const struct setting *found =
            settings_find(settings, TRANSFORMER_SETTINGS, ours, strlen(ours), &member);
        if (status != ROTARY_OK || !value || !found)
            continue;
        struct setting named = *found;
        named.name = json_string_value(theirs);
        const struct settings one = {&named, 1, (char *)member - named.offset};
        json_t *object = json_pack("{s:O}", named.name, value);
        status = settings_read(&one, 1, object, reading->path, reading->error);
        json_decref(object);
    }
    return status;
}

static rotary_status read_all(const struct reading *reading, struct transformer_config *model)
{
    rotary_status (*const steps[])(const struct reading *reading) = {
        check_quantisation, check_architecture, check_refused, check_sizes,  read_keys,
        read_activation,    read_rotation,      read_parallel, read_windows, read_causal,
    };
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; status == ROTARY_OK && i < sizeof steps / sizeof steps[0]; i++)
        status = steps[i](reading);
    if (status != ROTARY_OK)
        return status;
    struct transformer_config made;
    transformer_config_default(&made);
    made.position = POSITION_ROPE;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&made, settings);
    status = check_named(reading, settings);
    if (status == ROTARY_OK)
        status = settings_read(settings, TRANSFORMER_SETTINGS, reading->model, reading->path, reading->error);
    if (status == ROTARY_OK) {
        rotary_error wrong = {0};
        status = transformer_config_check(&made, &wrong);
        if (status != ROTARY_OK)
            status = rotary_fail(reading->error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status,
                                 "%s: %.400s", reading->path, wrong.message);
    }
    if (status == ROTARY_OK)
        *model = made;
    else
        transformer_config_free(&made);
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

/* The key that says how many experts share a layer's tokens, if there are several; NULL: the model is dense. */
static const char *key_of_experts(const json_t *object)
{
    static const char *const keys[] = {"num_local_experts", "n_routed_experts", "num_experts",
                                       "moe_num_experts"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_number_value(json_object_get(object, keys[i])) > 1)
            return keys[i];
    return NULL;
}

static rotary_status refuse_type(const json_t *object, const char *type, const char *path,
                                 rotary_error *error)
{
    char names[DECODER_FAMILY_NAMES_BYTES], experts[128] = "";
    const json_t *of_text = json_object_get(object, "text_config");
    const char *key = key_of_experts(of_text ? of_text : object);
    if (key)
        snprintf(experts, sizeof experts, ", a mixture of experts (\"%s\" is %.0f)", key,
                 json_number_value(json_object_get(of_text ? of_text : object, key)));
    return rotary_fail(error, ROTARY_UNSUPPORTED, "%s: \"model_type\" is %.60s%s, wanted %s%s", path,
                       type ? type : "not there", experts, key ? "a dense model: " : "",
                       decoder_family_names(names));
}

rotary_status decoder_config_read(const json_t *object, const char *path, struct transformer_config *model,
                                  json_t **family, rotary_error *error)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    json_t *found = NULL;
    rotary_status status = type ? decoder_family_find(type, &found, error) : ROTARY_OK;
    if (status == ROTARY_OK && !found)
        return refuse_type(object, type, path, error);
    if (status != ROTARY_OK)
        return status;
    json_t *used = NULL;
    status = config_keys_used(object, "decoder", type, &used, error);
    const struct reading reading = {
        .object = used, .family = found, .path = path, .model = json_object(), .error = error};
    if (status == ROTARY_OK)
        status = read_all(&reading, model);
    json_decref(reading.model);
    json_decref(used);
    if (status == ROTARY_OK)
        *family = found;
    else
        json_decref(found);
    if (status == ROTARY_INVALID_ARGUMENT && error)
        error->status = ROTARY_BAD_FILE;
    return status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status;
}
