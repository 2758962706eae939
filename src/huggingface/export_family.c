/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/export_family.h"

#include "base/fail.h"
#include "file/file.h"
#include "huggingface/decoder_family.h"
#include "layer/sublayer.h"
#include "rope_config/rope_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const export_format_names[] = {"huggingface", "gguf", NULL};

/* How messages call what a format's readers have. */
static const char *const readers[] = {"Hugging Face", "llama.cpp"};

/* ---- facts ---- */

/* The keys of a configuration with their values. */
static rotary_status settings_of(const struct transformer_config *config, json_t **object,
                                 rotary_error *error)
{
    struct transformer_config copy = *config; /* a table is over what may be written to */
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&copy, settings);
    *object = json_object();
    return settings_write(settings, TRANSFORMER_SETTINGS, *object, error);
}

/* Layers that all are of one type are as if no type was given. */
static void simplify_layers(json_t *facts, const struct transformer_config *config)
{
    const bool sliding = transformer_names_layer_type(config, "sliding_attention"),
               full = transformer_names_layer_type(config, "full_attention");
    if (sliding != full)
        json_object_set_new(facts, "layer_types", json_null());
    if (!export_family_windowed(config))
        json_object_set_new(facts, "sliding_window", json_integer(0));
}

bool export_family_windowed(const struct transformer_config *config)
{
    return config->sliding_window > 0 &&
           (!config->layer_types || transformer_names_layer_type(config, "sliding_attention"));
}

/* The type of a layer. */
static bool is_sliding(const struct transformer_config *config, int64_t layer)
{
    const char *type = json_string_value(json_array_get(config->layer_types, (size_t)layer));
    return export_family_windowed(config) && (!type || strcmp(type, "sliding_attention") == 0);
}

/* Every layer's type, the window, and whether every other layer has it, as in Gemma 2. */
static void add_layer_facts(json_t *facts, const struct transformer_config *config)
{
    json_t *types = json_array();
    bool alternating = true;
    for (int64_t i = 0; i < config->num_hidden_layers; i++) {
        const bool sliding = is_sliding(config, i);
        json_array_append_new(types, json_string(sliding ? "sliding_attention" : "full_attention"));
        alternating = alternating && sliding == (i % 2 == 0);
    }
    json_object_set_new(facts, "types", types);
    json_object_set_new(facts, "alternating", json_boolean(alternating));
    /* Readers of Gemma 2 want a window even where no layer has one. */
    const int64_t window =
        export_family_windowed(config) ? config->sliding_window : config->max_position_embeddings;
    json_object_set_new(facts, "window", json_integer((json_int_t)window));
    json_object_set_new(facts, "no_window", json_null());
}

/* A number, or null for none. */
static json_t *positive(double number)
{
    return number > 0 ? json_real(number) : json_null();
}

static void add_score_facts(json_t *facts, const struct transformer_config *config)
{
    const double attention = config->attn_logit_softcapping, logit = config->final_logit_softcapping,
                 given = config->query_pre_attn_scalar, scalar = given > 0 ? given : (double)config->head_dim;
    const bool whole = scalar == floor(scalar);
    json_object_set_new(facts, "attention_softcap", positive(attention));
    json_object_set_new(facts, "logit_softcap", positive(logit));
    json_object_set_new(facts, "softcapped", json_boolean(attention > 0 && logit > 0));
    json_object_set_new(facts, "whole_query_scalar", json_boolean(whole));
    json_object_set_new(facts, "query_scalar", whole ? json_integer((json_int_t)scalar) : json_real(scalar));
}

static void add_facts(json_t *facts, const struct transformer_config *config)
{
    const struct {
        const char *name;
        bool value;
    } rows[] = {
        {"attention_bias", transformer_has_bias(config, config->attention_bias)},
        {"attention_output_bias", transformer_has_bias(config, config->attention_output_bias)},
        {"mlp_bias", transformer_has_bias(config, config->mlp_bias)},
        {"output_bias", transformer_has_bias(config, config->output_bias)},
        {"windowed", export_family_windowed(config)},
        {"grouped", config->num_key_value_heads != config->num_attention_heads},
        {"parallel", config->parallel_residual != PARALLEL_RESIDUAL_NO},
        {"divided", config->hidden_size % config->num_attention_heads == 0},
        {"own_head_dim", config->head_dim * config->num_attention_heads != config->hidden_size},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        json_object_set_new(facts, rows[i].name, json_boolean(rows[i].value));
    static const char *const activations[] = {[ACTIVATION_RELU] = "relu",
                                              [ACTIVATION_GELU] = "gelu",
                                              [ACTIVATION_SWIGLU] = "silu",
                                              [ACTIVATION_GELU_TANH] = "gelu_pytorch_tanh",
                                              [ACTIVATION_GEGLU_TANH] = "gelu_pytorch_tanh"};
    simplify_layers(facts, config);
    add_layer_facts(facts, config);
    add_score_facts(facts, config);
    json_object_set_new(facts, "activation", json_string(activations[config->hidden_act]));
    json_object_set_new(
        facts, "rotary_dim",
        json_integer((json_int_t)rope_config_channels(config->head_dim, config->partial_rotary_factor)));
}

/* The value that `value` stands for: a fact if it is a text that begins with "$". */
static const json_t *resolve(const json_t *facts, const json_t *value)
{
    const char *text = json_string_value(value);
    return text && text[0] == '$' ? json_object_get(facts, text + 1) : value;
}

/* ---- the table ---- */

/* Adds to `to` the members of `from` that it has not. Of objects in both, the same. */
static void inherit(json_t *to, const json_t *from)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)from, key, value) { /* jansson's parameter is not const */
        json_t *own = json_object_get(to, key);
        if (!own)
            json_object_set_new(to, key, json_deep_copy(value));
        else if (json_is_object(own) && json_is_object(value))
            inherit(own, value);
    }
}

/* The entry at `index` with what it has of earlier ones: the one that it is like, and the one that that is
 * like. */
static json_t *entry_at(const json_t *families, size_t index)
{
    json_t *entry = json_deep_copy(json_array_get(families, index));
    const char *like = json_string_value(json_object_get(entry, "like"));
    for (size_t i = index; like && i-- > 0;) {
        const json_t *other = json_array_get(families, i);
        if (strcmp(json_string_value(json_object_get(other, "model_type")), like) != 0)
            continue;
        inherit(entry, other);
        like = json_string_value(json_object_get(other, "like"));
    }
    return entry;
}

/* ---- what is wanted ---- */

struct search {
    const json_t *facts, *defaults; /* of the model, and of a configuration that says nothing */
    const json_t *ignored, *reasons;
};

/* The first key that the model has otherwise than a family, and how many there are. */
struct mismatch {
    int count;
    const char *key;
    const json_t *wanted; /* a list of values */
};

static bool list_has(const json_t *list, const json_t *value, const json_t *facts)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(resolve(facts, json_array_get(list, i)), value))
            return true;
    return false;
}

static void note(struct mismatch *mismatch, const char *key, const json_t *wanted)
{
    if (mismatch->count++ == 0) {
        mismatch->key = key;
        mismatch->wanted = wanted;
    }
}

static void check_wanted(const struct search *search, const json_t *wanted, struct mismatch *mismatch)
{
    const char *key;
    json_t *values;
    json_object_foreach ((json_t *)(uintptr_t)wanted, key, values)
        if (!json_is_null(values) && !list_has(values, json_object_get(search->facts, key), search->facts))
            note(mismatch, key, values);
}

/* Whether config.json has the fact. */
static bool is_carried(const json_t *config, const char *fact)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)config, key, value) {
        const char *text = json_string_value(value);
        if (text && text[0] == '$' && strcmp(text + 1, fact) == 0)
            return true;
    }
    return false;
}

static bool is_ignored(const json_t *ignored, const char *name)
{
    for (size_t i = 0; i < json_array_size(ignored); i++)
        if (strcmp(json_string_value(json_array_get(ignored, i)), name) == 0)
            return true;
    return false;
}

/* Every other key of the configuration must have its default. */
static void check_others(const struct search *search, const json_t *entry, struct mismatch *mismatch)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)search->defaults, key, value) {
        bool known = json_object_get(json_object_get(entry, "wanted"), key) ||
                     is_carried(json_object_get(entry, "config"), key) || is_ignored(search->ignored, key);
        if (!known && !json_equal(value, json_object_get(search->facts, key)))
            note(mismatch, key, NULL);
    }
}

static struct mismatch compare(const struct search *search, const json_t *entry, enum export_format format)
{
    struct mismatch mismatch = {0};
    check_wanted(search, json_object_get(entry, "wanted"), &mismatch);
    if (format == EXPORT_GGUF)
        check_wanted(search, json_object_get(json_object_get(entry, "gguf"), "wanted"), &mismatch);
    check_others(search, entry, &mismatch);
    return mismatch;
}

/* ---- messages ---- */

enum { WANTED_BYTES = 256 };

static void describe_value(const json_t *value, char *text, size_t bytes)
{
    char *json = file_json_text(value, JSON_ENCODE_ANY);
    snprintf(text, bytes, "%.80s", json ? json : "");
    free(json);
}

/* "\"gelu\" or \"relu\"" */
static void describe_wanted(const struct search *search, const struct mismatch *mismatch,
                            char text[WANTED_BYTES])
{
    size_t used = 0;
    if (!mismatch->wanted)
        describe_value(json_object_get(search->defaults, mismatch->key), text, WANTED_BYTES);
    for (size_t i = 0; i < json_array_size(mismatch->wanted) && used < WANTED_BYTES; i++) {
        char value[96];
        describe_value(resolve(search->facts, json_array_get(mismatch->wanted, i)), value, sizeof value);
        used += (size_t)snprintf(text + used, WANTED_BYTES - used, "%s%s", i > 0 ? " or " : "", value);
    }
}

/* The keys that facts of other names are about, and what is wanted of them. */
static const struct {
    const char *fact, *key, *wanted;
} about_keys[] = {
    {"windowed", "sliding_window", "0"},
    {"grouped", "num_key_value_heads", "num_attention_heads"},
    {"alternating", "layer_types", "sliding_attention, full_attention and so on"},
    {"softcapped", "attn_logit_softcapping", "that and final_logit_softcapping above 0"},
    {"whole_query_scalar", "query_pre_attn_scalar", "a whole number"},
    {"query_scalar", "query_pre_attn_scalar", "head_dim"},
    {"own_head_dim", "head_dim", "hidden_size / num_attention_heads"},
    {"divided", "hidden_size", "a multiple of num_attention_heads"},
};

static rotary_status fail_mismatch(const struct search *search, const struct mismatch *mismatch,
                                   enum export_format format, const char *where, rotary_error *error)
{
    const char *key = mismatch->key, *reason = json_string_value(json_object_get(search->reasons, key));
    char value[96], wanted[WANTED_BYTES];
    describe_wanted(search, mismatch, wanted);
    for (size_t i = 0; i < sizeof about_keys / sizeof about_keys[0]; i++)
        if (strcmp(about_keys[i].fact, mismatch->key) == 0) {
            key = about_keys[i].key;
            snprintf(wanted, sizeof wanted, "%s", about_keys[i].wanted);
        }
    describe_value(json_object_get(search->facts, key), value, sizeof value);
    return rotary_fail(error, ROTARY_UNSUPPORTED, "%s: %s is %s, which no model of %s has%s%s: wanted %s",
                       where, key, value, readers[format], reason ? ", as " : "", reason ? reason : "",
                       wanted);
}

/* ---- finding ---- */

/* A model of an entry that says why the format has none. */
static rotary_status fail_format(const json_t *entry, const char *reason, const char *where,
                                 rotary_error *error)
{
    return rotary_fail(error, ROTARY_UNSUPPORTED,
                       "%s: a model of type %s is not exported to %s, %s: wanted --format %s", where,
                       json_string_value(json_object_get(entry, "model_type")), readers[EXPORT_GGUF], reason,
                       export_format_names[EXPORT_HUGGINGFACE]);
}

/* Adds the names of tensors of transformers, which are those that are read (huggingface/decoder_family.h). */
static rotary_status add_tensors(json_t *entry, rotary_error *error)
{
    static const char *const keys[] = {"tensors", "norm_offset", "query_key_value_by_head"};
    json_t *decoder = NULL;
    rotary_status status =
        decoder_family_find(json_string_value(json_object_get(entry, "model_type")), &decoder, error);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(decoder, keys[i]);
        if (value)
            json_object_set(entry, keys[i], value);
    }
    json_decref(decoder);
    return status;
}

/* Sets the members that follow from the entry. */
static void point_into(struct export_family *family, enum export_format format)
{
    const bool gguf = format == EXPORT_GGUF;
    family->form = gguf ? json_object_get(family->entry, "gguf") : family->entry;
    family->description = json_object_get(family->form, gguf ? "metadata" : "config");
}

/* The entry that the model is; or the mismatch of the one that it is most like, the first of several. */
static rotary_status search_table(const struct search *search, const json_t *families,
                                  enum export_format format, const char *where, json_t **found,
                                  rotary_error *error)
{
    struct mismatch nearest = {0};
    json_t *nearest_entry = NULL;
    *found = NULL;
    for (size_t i = 0; i < json_array_size(families) && !*found; i++) {
        json_t *entry = entry_at(families, i);
        const bool has_format = format != EXPORT_GGUF || !json_is_null(json_object_get(entry, "gguf"));
        const struct mismatch mismatch = compare(search, entry, format);
        if (has_format && mismatch.count == 0) {
            *found = entry;
        } else if (has_format && (!nearest_entry || mismatch.count < nearest.count)) {
            json_decref(nearest_entry);
            nearest_entry = entry;
            nearest = mismatch;
        } else {
            json_decref(entry);
        }
    }
    const char *reason = format == EXPORT_GGUF ? json_string_value(json_object_get(*found, "gguf")) : NULL;
    rotary_status status = ROTARY_OK;
    if (!*found)
        status = fail_mismatch(search, &nearest, format, where, error);
    else if (reason)
        status = fail_format(*found, reason, where, error);
    json_decref(nearest_entry);
    return status;
}

static rotary_status find_in(json_t *table, const json_t *facts, const char *where, enum export_format format,
                             json_t **entry, rotary_error *error)
{
    struct transformer_config config;
    json_t *defaults;
    transformer_config_default(&config);
    rotary_status status = settings_of(&config, &defaults, error);
    const struct search search = {.facts = facts,
                                  .defaults = defaults,
                                  .ignored = json_object_get(table, "ignored"),
                                  .reasons = json_object_get(table, "reasons")};
    if (status == ROTARY_OK)
        status = search_table(&search, json_object_get(table, "families"), format, where, entry, error);
    json_decref(defaults);
    return status;
}

rotary_status export_family_find(struct export_family *family, const struct transformer_config *config,
                                 enum export_format format, const char *where, rotary_error *error)
{
    struct export_family found = {0};
    json_error_t wrong;
    json_t *table = json_loads(export_families_json, JSON_REJECT_DUPLICATES, &wrong);
    rotary_status status = table ? settings_of(config, &found.facts, error)
                                 : rotary_fail(error, ROTARY_BAD_FILE, "export_families.json, line %d: %s",
                                               wrong.line, wrong.text);
    if (status == ROTARY_OK) {
        add_facts(found.facts, config);
        status = find_in(table, found.facts, where, format, &found.entry, error);
    }
    json_decref(table);
    if (status == ROTARY_OK)
        status = add_tensors(found.entry, error);
    if (status != ROTARY_OK) {
        export_family_free(&found);
        return status;
    }
    point_into(&found, format);
    *family = found;
    return ROTARY_OK;
}

void export_family_free(struct export_family *family)
{
    json_decref(family->facts);
    json_decref(family->entry);
    *family = (struct export_family){0};
}

/* ---- reading an entry ---- */

const char *export_family_text(const struct export_family *family, const char *key)
{
    const char *text = json_string_value(json_object_get(family->form, key));
    return text ? text : "";
}

json_t *export_family_describe(const struct export_family *family, const char *prefix)
{
    json_t *object = json_object();
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)family->description, key, value) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, key);
        const json_t *fact = resolve(family->facts, value);
        if (!json_is_null(value) && !(prefix[0] && json_is_null(fact)))
            json_object_set_new(object, name, json_deep_copy(fact));
    }
    return object;
}
