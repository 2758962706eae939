/* SPDX-License-Identifier: Apache-2.0 */
#include "file/rope_layers.h"

#include "base/fail.h"
#include "file/rope_keys.h"
#include "file/settings.h"

#include <stdint.h>
#include <stdio.h>
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

const char *rope_layers_local_base(const struct rope_reader *reader, const char *layer_type)
{
    for (size_t i = 0; i < LOCAL_BASES; i++)
        if (rope_reader_value(reader->text_config, local_bases[i].key) &&
            (!layer_type || strcmp(layer_type, local_bases[i].layer_type) == 0))
            return local_bases[i].key;
    return NULL;
}

/* Models of several parts keep the text's sizes and rotation one level down, or two. */
static const json_t *find_text(const json_t *object)
{
    static const char *const sizes[] = {"head_dim", "num_attention_heads", "n_head", "qk_rope_head_dim"};
    static const char *const parts[] = {"text_config", "llm_config", "language_config", "thinker_config"};
    enum { SIZES = sizeof sizes / sizeof sizes[0], PARTS = sizeof parts / sizeof parts[0], DEEPEST = 2 };
    for (int depth = 0; depth < DEEPEST; depth++) {
        for (int i = 0; i < SIZES; i++)
            if (rope_reader_value(object, sizes[i]))
                return object;
        const json_t *part = NULL;
        for (int i = 0; !json_is_object(part) && i < PARTS; i++)
            part = rope_reader_value(object, parts[i]);
        if (!json_is_object(part))
            return object;
        object = part;
    }
    return object;
}

rotary_status rope_layers_find_model(struct rope_reader *reader, json_t **parameters)
{
    static const char two_bases[] = "{\"full_attention\": {}, \"sliding_attention\": {}}";
    reader->text_config = find_text(reader->root);
    const json_t *type = rope_reader_value(reader->text_config, "model_type");
    reader->model_type = json_string_value(type ? type : rope_reader_value(reader->root, "model_type"));
    reader->family = rope_keys_family(reader->model_type);
    reader->without_mla = json_is_false(rope_reader_value(reader->text_config, "use_mla"));
    const char *text = reader->family->parameters;
    if (!text && rope_layers_local_base(reader, NULL))
        text = two_bases;
    *parameters = text ? json_loads(text, 0, NULL) : NULL;
    reader->defaults = *parameters;
    return text && !*parameters
               ? rotary_fail(reader->error, ROTARY_OUT_OF_MEMORY, "%s: no memory for it", reader->where)
               : ROTARY_OK;
}

/* ---- the parameters ---- */

/* Whether the parameters are given for each type of layer: then all there is are objects. */
static bool by_layer_type(const json_t *parameters)
{
    json_t *entries = (json_t *)(uintptr_t)parameters; /* jansson goes through none that is const */
    const char *key;
    json_t *entry;
    json_object_foreach (entries, key, entry)
        if (json_is_object(entry))
            return true;
    return false;
}

static rotary_status refuse_layer_type(const struct rope_reader *reader, const json_t *types,
                                       const char *layer_type)
{
    const char *names[MAX_LAYER_TYPES + 1] = {NULL};
    char list[TEXT_BYTES] = "";
    size_t used = 0;
    int count = 0;
    json_t *entries = (json_t *)(uintptr_t)types;
    const char *key;
    json_t *entry;
    json_object_foreach (entries, key, entry) {
        if (count == MAX_LAYER_TYPES)
            break;
        int added = snprintf(list + used, sizeof list - used, "%s%.60s", count ? ", " : "", key);
        used += added > 0 && (size_t)added < sizeof list - used ? (size_t)added : 0;
        names[count++] = key;
    }
    if (!layer_type)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s: types of layers turn differently; wanted --layer-type with one of %s",
                           reader->where, list);
    char hint[SETTINGS_HINT_BYTES];
    return rotary_fail(reader->error, ROTARY_BAD_FILE,
                       "%s has no type of layer \"%.60s\", wanted one of %s%s", reader->where, layer_type,
                       list, settings_hint(layer_type, names, hint));
}

/* Chooses the parameters of the type of layer, among the file's and among those the model takes. */
static rotary_status choose_layer_type(struct rope_reader *reader, const char *layer_type)
{
    bool in_file = reader->parameters != reader->text_config && by_layer_type(reader->parameters);
    bool in_model = by_layer_type(reader->defaults);
    const json_t *types = in_file ? reader->parameters : reader->defaults;
    if (!in_file && !in_model && reader->parameters)
        reader->defaults = NULL;
    if (!in_file && !in_model)
        return layer_type ? rotary_fail(reader->error, ROTARY_BAD_FILE,
                                        "%s does not tell types of layers apart, but \"%.60s\" was asked for",
                                        reader->where, layer_type)
                          : ROTARY_OK;
    json_t *entries = (json_t *)(uintptr_t)types;
    const char *beside;
    json_t *entry;
    json_object_foreach (entries, beside, entry)
        if (!json_is_object(entry) && !json_is_null(entry))
            return rope_reader_refuse(reader, beside, entry, "an object, as other types of layer have");
    const char *key = layer_type;
    if (!key && json_object_size(types) == 1)
        key = json_object_iter_key(json_object_iter(entries));
    const json_t *of_file = in_file && key ? json_object_get(reader->parameters, key) : NULL;
    const json_t *of_model = in_model && key ? json_object_get(reader->defaults, key) : NULL;
    if (!of_file && !of_model)
        return refuse_layer_type(reader, types, layer_type);
    if (!json_is_object(of_file) && !json_is_object(of_model))
        return rope_reader_refuse(reader, key, of_file ? of_file : of_model,
                                  "an object: such layers do not turn");
    for (size_t i = 0; i < LOCAL_BASES; i++)
        reader->has_local_base = reader->has_local_base || strcmp(key, local_bases[i].layer_type) == 0;
    if (!in_file && reader->parameters && !json_object_get(reader->defaults, "full_attention"))
        return rope_reader_refuse(reader, reader->parameters_key, reader->parameters,
                                  "an object for each type of layer");
    reader->defaults = json_is_object(of_model) ? of_model : NULL;
    if (in_file)
        reader->parameters = json_is_object(of_file) ? of_file : NULL;
    else if (reader->has_local_base)
        reader->parameters = NULL;
    return ROTARY_OK;
}

/* What the model takes where the file says nothing: numbers, which the file's go before wherever they stand,
 * and a scaling if the file has none. */
static void take_from_model(struct rope_reader *reader)
{
    json_t *taken = (json_t *)(uintptr_t)reader->defaults; /* read for this file alone */
    double base = json_number_value(json_object_get(taken, "rope_theta"));
    double fraction = json_number_value(json_object_get(taken, "partial_rotary_factor"));
    reader->default_base = base > 0 ? base : reader->family->rope_theta;
    reader->default_fraction =
        fraction > 0 && !reader->parameters ? fraction : reader->family->partial_rotary_factor;
    reader->default_head_dim = json_integer_value(json_object_get(taken, "head_dim"));
    json_object_del(taken, "rope_theta");
    json_object_del(taken, "partial_rotary_factor");
    json_object_del(taken, "head_dim");
    if (!reader->parameters && json_object_size(taken) > 0)
        reader->parameters = taken;
}

rotary_status rope_layers_find_parameters(struct rope_reader *reader)
{
    const json_t *scaling = rope_reader_value(reader->text_config, "rope_scaling");
    const json_t *parameters = rope_reader_value(reader->text_config, "rope_parameters");
    if (scaling && parameters && !json_equal(scaling, parameters))
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s has both \"rope_scaling\" and \"rope_parameters\", and they differ; wanted "
                           "one of them",
                           reader->where);
    reader->parameters_key = scaling && !parameters ? "rope_scaling" : "rope_parameters";
    reader->parameters = parameters ? parameters : scaling;
    if (!reader->parameters && rope_reader_value(reader->text_config, "rope_type"))
        reader->parameters = reader->text_config;
    if (reader->parameters && !json_is_object(reader->parameters))
        return rope_reader_refuse(reader, reader->parameters_key, reader->parameters, "an object or null");
    rotary_status status = choose_layer_type(reader, reader->layer_type);
    if (!status)
        take_from_model(reader);
    return status;
}
