/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_layers.h"

#include "base/fail.h"
#include "config/settings.h"
#include "rope_config/rope_keys.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256, MAX_LAYER_TYPES = 16 };

/* ---- the model ---- */

/* Before rope_parameters, models with two bases had the second one in a key of its own, without scaling. */
static const struct {
    const char *layer_type, *key;
} local_bases[] = {{"sliding_attention", "rope_local_base_freq"},
                   {"sliding_attention", "local_rope_theta"},
                   {"sliding_attention", "swa_rope_theta"},
                   {"compress", "compress_rope_theta"}};
enum { LOCAL_BASES = sizeof local_bases / sizeof local_bases[0] };

/* 0 is how the settings of our models write that there is none. */
static bool has_base(const json_t *object, const char *key)
{
    const json_t *value = json_field_value(object, key);
    return value && !(json_is_number(value) && json_number_value(value) == 0);
}

/* DeepSeek-V4's rotations have names of their own, and its layer types are others: those that compress their
 * keys have the second one. */
static const struct {
    const char *layer_type, *rotation;
} rotations_by_layer_type[] = {{"sliding_attention", "main"},
                               {"compressed_sparse_attention", "compress"},
                               {"heavily_compressed_attention", "compress"}};

const char *rope_layers_local_base(const struct rope_reader *reader, const char *layer_type)
{
    for (size_t i = 0; i < LOCAL_BASES; i++)
        if (has_base(reader->text_config, local_bases[i].key) &&
            (!layer_type || strcmp(layer_type, local_bases[i].layer_type) == 0))
            return local_bases[i].key;
    return NULL;
}

/* Models of several modalities have the language model's sizes and rotation one level down, or two. */
static const json_t *find_text_config(const json_t *object)
{
    static const char *const sizes[] = {"head_dim", "num_attention_heads", "n_head", "qk_rope_head_dim"};
    static const char *const models[] = {"text_config", "llm_config", "language_config", "thinker_config"};
    enum { SIZES = sizeof sizes / sizeof sizes[0], MODELS = sizeof models / sizeof models[0], MAX_DEPTH = 2 };
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        for (int i = 0; i < SIZES; i++)
            if (json_field_value(object, sizes[i]))
                return object;
        const json_t *inner = NULL;
        for (int i = 0; !json_is_object(inner) && i < MODELS; i++)
            inner = json_field_value(object, models[i]);
        if (!json_is_object(inner))
            return object;
        object = inner;
    }
    return object;
}

rotary_status rope_layers_find_family(struct rope_reader *reader)
{
    reader->text_config = find_text_config(reader->root);
    const json_t *type = json_field_value(reader->text_config, "model_type");
    reader->model_type = json_string_value(type ? type : json_field_value(reader->root, "model_type"));
    reader->without_mla = json_is_false(json_field_value(reader->text_config, "use_mla"));
    rotary_status status = ROTARY_OK;
    if (reader->model_type && reader->request->find_family)
        status = reader->request->find_family(reader->model_type, &reader->family, reader->error);
    bool two_bases = !reader->family.rope_parameters && rope_layers_local_base(reader, NULL);
    if (status || !(reader->family.rope_parameters || two_bases))
        return status;
    reader->family_parameters = two_bases ? json_pack("{s:{}, s:{}}", "full_attention", "sliding_attention")
                                          : json_deep_copy(reader->family.rope_parameters);
    return reader->family_parameters
               ? ROTARY_OK
               : rotary_fail(reader->error, ROTARY_OUT_OF_MEMORY, "%s: no memory for it", reader->where);
}

/* ---- heads ---- */

/* Whether layer number `layer` is of the asked type: any is, where none is asked for. */
static bool is_asked_layer(const struct rope_reader *reader, size_t layer)
{
    const json_t *types = json_field_value(reader->text_config, "layer_types");
    const char *asked = reader->request->layer_type, *type = json_string_value(json_array_get(types, layer));
    return !asked || (type && strcmp(asked, type) == 0);
}

rotary_status rope_layers_head_dim(const struct rope_reader *reader, int64_t *head_dim)
{
    static const char key[] = "per_layer_config";
    json_t *layers =
        (json_t *)(uintptr_t)json_field_value(reader->text_config, key); /* jansson's is not const */
    const size_t count = json_array_size(json_field_value(reader->text_config, "layer_types"));
    if (!layers || rope_reader_is_among(key, reader->request->ignored))
        return ROTARY_OK;
    int64_t asked = 0, listed = 0;
    for (size_t i = 0; i < count; i++)
        asked += is_asked_layer(reader, i);
    const char *number;
    json_t *layer;
    json_object_foreach (layers, number, layer) {
        const json_t *own = json_field_value(layer, "head_dim");
        int64_t channels = 0;
        if (!own || !is_asked_layer(reader, strtoul(number, NULL, 10)))
            continue;
        rotary_status status = rope_reader_integer(reader, "head_dim", own, 1, &channels);
        if (status)
            return status;
        if (listed > 0 && channels != *head_dim)
            return rope_reader_refuse_value(reader, key, layers, "heads of one size in all layers of a type");
        *head_dim = channels;
        listed++;
    }
    return listed > 0 && listed != asked
               ? rope_reader_refuse_value(reader, key, layers,
                                          "the head_dim of all layers that \"layer_types\" has of a type")
               : ROTARY_OK;
}

/* ---- the parameters ---- */

/* Whether the parameters are given for each layer type: then an entry is an object. */
static bool is_by_layer_type(const json_t *parameters)
{
    json_t *entries = (json_t *)(uintptr_t)parameters; /* jansson cannot iterate over a const object */
    const char *key;
    json_t *entry;
    json_object_foreach (entries, key, entry)
        if (json_is_object(entry))
            return true;
    return false;
}

/* Whether an entry is that of a layer type, and no key beside them, which may be null too. */
static bool is_layer_type(const char *key, const json_t *entry)
{
    return json_is_object(entry) || (json_is_null(entry) && !rope_keys_is_parameter(key));
}

/* The entry of a layer type; NULL if there is none. */
static const json_t *layer_type_entry(const json_t *types, const char *key)
{
    const json_t *entry = key ? json_object_get(types, key) : NULL;
    return entry && is_layer_type(key, entry) ? entry : NULL;
}

/* The names of layer types, comma-separated; `names` are the same, NULL-terminated. */
static void list_layer_types(const json_t *types, char list[TEXT_BYTES],
                             const char *names[MAX_LAYER_TYPES + 1])
{
    size_t used = 0;
    int count = 0;
    json_t *entries = (json_t *)(uintptr_t)types;
    const char *key;
    json_t *entry;
    list[0] = 0;
    json_object_foreach (entries, key, entry) {
        if (count == MAX_LAYER_TYPES)
            break;
        if (!is_layer_type(key, entry))
            continue;
        int added = snprintf(list + used, TEXT_BYTES - used, "%s%.60s", count ? ", " : "", key);
        used += added > 0 && (size_t)added < TEXT_BYTES - used ? (size_t)added : 0;
        names[count++] = key;
    }
    names[count] = NULL;
}

static rotary_status refuse_layer_type(const struct rope_reader *reader, const json_t *types,
                                       const char *layer_type)
{
    const char *names[MAX_LAYER_TYPES + 1];
    char list[TEXT_BYTES];
    const char *option = reader->request->layer_type_option;
    list_layer_types(types, list, names);
    if (!layer_type)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s: layer types have different rotations; wanted %s with one of %s",
                           reader->where, option ? option : "--layer-type", list);
    char hint[SETTINGS_HINT_BYTES];
    return rotary_fail(reader->error, ROTARY_BAD_FILE, "%s has no layer type \"%.60s\", wanted one of %s%s",
                       reader->where, layer_type, list, settings_hint(layer_type, names, hint));
}

/* Whether the family is one whose layers rotate by "main" or by "compress". */
static bool compresses(const struct rope_reader *reader)
{
    return json_object_get(reader->family_parameters, "compress") != NULL;
}

/* Whether the file's one rotation can be that of a family whose layer types have different ones:
 * "rope_scaling" is that of full attention, or of layers that compress their keys. transformers does not look
 * at one in "rope_parameters", but at DeepSeek-V4's, whose base it never takes from there. */
static bool takes_one_rotation(const struct rope_reader *reader)
{
    if (!reader->parameters)
        return true;
    if (compresses(reader))
        return reader->parameters == reader->text_config ||
               !json_field_value(reader->parameters, "rope_theta");
    bool of_family = is_by_layer_type(reader->family.rope_parameters),
         of_model = reader->parameters == reader->text_config;
    return json_object_get(reader->family_parameters, "full_attention") &&
           !(of_family && !of_model && strcmp(reader->parameters_key, "rope_parameters") == 0);
}

/* Refuses one rotation for all layer types of a family whose layer types have different ones. */
static rotary_status refuse_one_rotation(const struct rope_reader *reader)
{
    const char *names[MAX_LAYER_TYPES + 1];
    char list[TEXT_BYTES], wanted[2 * TEXT_BYTES];
    list_layer_types(reader->family_parameters, list, names);
    snprintf(wanted, sizeof wanted, "an object for each layer type: %s", list);
    return rope_reader_refuse(reader, reader->parameters_key, reader->parameters, wanted);
}

/* Replaces reader->family_parameters by its entry `key`; NULL: by nothing. */
static void narrow_family_parameters(struct rope_reader *reader, const char *key)
{
    json_t *entry = key ? json_incref(json_object_get(reader->family_parameters, key)) : NULL;
    json_decref(reader->family_parameters);
    reader->family_parameters = entry;
}

/* The entry that a requested layer type has: its own, or that of the rotation of such layers. */
static const char *rotation_of_layer_type(const json_t *types, const char *layer_type)
{
    enum { ROTATIONS = sizeof rotations_by_layer_type / sizeof rotations_by_layer_type[0] };
    for (int i = 0; i < ROTATIONS && !json_object_get(types, layer_type); i++)
        if (strcmp(layer_type, rotations_by_layer_type[i].layer_type) == 0 &&
            json_object_get(types, rotations_by_layer_type[i].rotation))
            return rotations_by_layer_type[i].rotation;
    return layer_type;
}

/* The requested layer type, or the only one; NULL if there are several and none is requested. */
static const char *find_layer_type(const struct rope_reader *reader, const json_t *types)
{
    const char *found = NULL, *key;
    json_t *entries = (json_t *)(uintptr_t)types, *entry;
    if (reader->request->layer_type)
        return rotation_of_layer_type(types, reader->request->layer_type);
    json_object_foreach (entries, key, entry)
        if (is_layer_type(key, entry)) {
            if (found)
                return NULL;
            found = key;
        }
    return found;
}

static bool may_have_local_base(const char *layer_type)
{
    for (size_t i = 0; i < LOCAL_BASES; i++)
        if (strcmp(layer_type, local_bases[i].layer_type) == 0)
            return true;
    return false;
}

/* Narrows the parameters of file and family to those of the requested layer type. */
static rotary_status choose_layer_type(struct rope_reader *reader)
{
    const char *layer_type = reader->request->layer_type;
    bool in_file = reader->parameters != reader->text_config && is_by_layer_type(reader->parameters);
    bool in_family = is_by_layer_type(reader->family_parameters);
    const json_t *types = in_file ? reader->parameters : reader->family_parameters;
    if (!in_file && !in_family && reader->parameters)
        narrow_family_parameters(reader, NULL);
    if (!in_file && !in_family)
        return layer_type && !reader->request->of_settings
                   ? rotary_fail(reader->error, ROTARY_BAD_FILE,
                                 "%s has one rotation for all layer types, but \"%.60s\" was requested",
                                 reader->where, layer_type)
                   : ROTARY_OK;
    const char *key = find_layer_type(reader, types);
    const json_t *of_file = in_file ? layer_type_entry(reader->parameters, key) : NULL;
    const json_t *of_family = in_family ? layer_type_entry(reader->family_parameters, key) : NULL;
    if (!of_file && !of_family)
        return refuse_layer_type(reader, types, layer_type);
    if (!json_is_object(of_file) && !json_is_object(of_family))
        return rope_reader_refuse(reader, key, of_file ? of_file : of_family,
                                  "an object: these layers have no rotation");
    reader->layer_type = key;
    reader->local_layers = may_have_local_base(key);
    reader->by_layer_type = true;
    reader->shared = in_file ? reader->parameters : NULL;
    if (!in_file && !takes_one_rotation(reader))
        return refuse_one_rotation(reader);
    /* The one that the file's only rotation is not of has none but its base. */
    bool unscaled = compresses(reader) ? strcmp(key, "compress") != 0 : reader->local_layers;
    reader->unit_magnitude = !in_file && !unscaled && compresses(reader);
    if (in_file)
        reader->parameters = json_is_object(of_file) ? of_file : NULL;
    else if (unscaled)
        reader->parameters = NULL;
    narrow_family_parameters(reader, json_is_object(of_family) ? key : NULL);
    return ROTARY_OK;
}

/* Sets the defaults. Numbers of the family's parameters are defaults of single keys; its scaling is the
 * default of files without parameters. */
static void set_defaults(struct rope_reader *reader)
{
    json_t *parameters = reader->family_parameters;
    double theta = json_number_value(json_object_get(parameters, "rope_theta"));
    double fraction = json_number_value(json_object_get(parameters, "partial_rotary_factor"));
    reader->defaults = (struct rope_defaults){
        .rope_theta = theta > 0 ? theta : reader->family.rope_theta,
        .partial_rotary_factor =
            fraction > 0 && !reader->parameters ? fraction : reader->family.partial_rotary_factor,
        .head_dim = json_integer_value(json_object_get(parameters, "head_dim")),
    };
    json_object_del(parameters, "rope_theta");
    json_object_del(parameters, "partial_rotary_factor");
    json_object_del(parameters, "head_dim");
    if (!reader->parameters && json_object_size(parameters) > 0)
        reader->parameters = parameters;
}

/* Whether a file that has both says the same: rope_scaling is of all layers, or of full attention, as
 * versions of transformers read it that have no parameters by layer type. */
static bool is_agreed(const json_t *scaling, const json_t *parameters)
{
    return json_equal(scaling, parameters) ||
           json_equal(scaling, json_object_get(parameters, "full_attention"));
}

rotary_status rope_layers_find_parameters(struct rope_reader *reader)
{
    const json_t *scaling = json_field_value(reader->text_config, "rope_scaling");
    const json_t *parameters = json_field_value(reader->text_config, "rope_parameters");
    if (scaling && parameters && !is_agreed(scaling, parameters))
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s has both \"rope_scaling\" and \"rope_parameters\", and they differ; wanted "
                           "one of them",
                           reader->where);
    reader->parameters_key = scaling && !parameters ? "rope_scaling" : "rope_parameters";
    reader->parameters = parameters ? parameters : scaling;
    if (!reader->parameters && json_field_value(reader->text_config, "rope_type"))
        reader->parameters = reader->text_config;
    if (reader->parameters && !json_is_object(reader->parameters))
        return rope_reader_refuse(reader, reader->parameters_key, reader->parameters, "an object or null");
    rotary_status status = choose_layer_type(reader);
    if (!status)
        set_defaults(reader);
    return status;
}
