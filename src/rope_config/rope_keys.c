/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_keys.h"

#include "base/fail.h"
#include "config/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Keys that are read among the rotation's parameters and in text_config. */
static const char *const parameter_keys[] = {
    "rope_type",
    "type",
    "rope_theta",
    "factor",
    "alpha",
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "short_mscale",
    "long_mscale",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "max_position_embeddings",
    "n_positions",
    "truncate",
    "short_factor",
    "long_factor",
    "partial_rotary_factor",
    "mrope_section",
    "mrope_interleaved",
    "interleaved",
    /* ours */
    "pairing",
    "span",
    "angles",
    "tables",
    "axes",
    "pair_factors",
    "inverse_frequencies",
    "xpos_scale",
    "xpos_origin",
    "finetuned", /* changes no angle: whether the model was fine-tuned with its scaling */
    /* read by a rule below */
    "llama_4_scaling_beta",
    NULL,
};

/* Keys of text_config alone, with a word that names a rotation. Which layers rotate, and whether values
 * rotate too, is not checked. */
static const char *const text_config_keys[] = {
    "rope_scaling",
    "rope_parameters",
    "rope_sequence_length",
    "rope_local_base_freq",
    "local_rope_theta",
    "swa_rope_theta",
    "global_rope_theta",
    "compress_rope_theta",
    "layer_rope_theta",
    "rope_interleave",
    "rope_pct",
    "rope_percent",
    "rope_ratio",
    "rotary_pct",
    "rotary_emb_fraction",
    "rotary_emb_base",
    "rotary_emb_interleaved",
    "rotary_dim",
    "qk_rope_head_dim",
    "rope",
    "rotary",
    "rope_full_precision",
    "original_rope",
    "indexer_rope_interleave",
    "use_rope",
    "use_rotary_pos_emb",
    "use_mem_rope",
    "partial_rotary_factors",
    "no_rope_layers",
    "no_rope_layer_interval",
    "rotary_value",
    "cross_rotary",
    NULL,
};

/* Whether a word of the key begins with "rope" or "rotary", as in "qk_rope_head_dim"; not so in "property".
 */
static bool names_rotation(const char *key)
{
    for (const char *word = key; word; word = strchr(word, '_')) {
        word += *word == '_';
        if (strncmp(word, "rope", 4) == 0 || strncmp(word, "rotary", 6) == 0)
            return true;
    }
    return false;
}

/* `within` is the key of the object that has it; NULL: the model. */
static rotary_status refuse_key(const struct rope_reader *reader, const char *within, const char *key)
{
    const char *nearest = settings_nearest(key, parameter_keys);
    char option[ROPE_READER_OPTION_BYTES];
    return rotary_fail(
        reader->error, ROTARY_BAD_FILE,
        "%s: %s%s%s has the key \"%.60s\", which is not known and may change the angles%s%s%s; "
        "wanted one that is known%s",
        reader->where, within ? "\"" : "the model", within ? within : "", within ? "\"" : "", key,
        nearest ? " (did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?)" : "",
        rope_reader_or_ignore(reader, key, option));
}

/* A key of `object` that is neither known nor ignored, other than null; NULL if there is none. */
static const char *find_unknown(const struct rope_reader *reader, const json_t *object,
                                bool (*is_known)(const char *key))
{
    json_t *entries = (json_t *)(uintptr_t)object; /* jansson cannot iterate over a const object */
    const char *key;
    json_t *value;
    json_object_foreach (entries, key, value)
        if (!is_known(key) && !rope_reader_is_among(key, reader->request->ignored) && !json_is_null(value))
            return key;
    return NULL;
}

bool rope_keys_is_parameter(const char *key)
{
    return rope_reader_is_among(key, parameter_keys);
}

static bool is_known_of_model(const char *key)
{
    return !names_rotation(key) || rope_keys_is_parameter(key) || rope_reader_is_among(key, text_config_keys);
}

/* Keys of "attn_config" (DBRX, MPT), of which the base alone is read. */
static bool is_known_of_attention(const char *key)
{
    static const char *const keys[] = {"rope_theta", "rope", NULL};
    return !names_rotation(key) || rope_reader_is_among(key, keys);
}

/* Whether a key may stand beside the parameters of layer types: transformers saves there what each of them has
 * too, and that there is no scaling. YaRN's "truncate" is read there; the length is read of a layer type alone,
 * as by transformers. */
static bool may_stand_beside(const struct rope_reader *reader, const char *key, const json_t *value)
{
    static const char *const keys[] = {"truncate", "original_max_position_embeddings", NULL};
    const bool type = strcmp(key, "rope_type") == 0 || strcmp(key, "type") == 0;
    const char *text = json_string_value(value);
    return json_is_object(value) || json_is_null(value) || rope_reader_is_among(key, keys) ||
           (rope_keys_is_parameter(key) && json_field_value(reader->parameters, key)) ||
           (type && text && strcmp(text, "default") == 0);
}

/* A key beside the parameters of layer types that would change them if it were read, and is not ignored; NULL if
 * there is none. */
static const char *find_unread_beside(const struct rope_reader *reader)
{
    json_t *entries = (json_t *)(uintptr_t)reader->shared;
    const char *key;
    json_t *entry;
    json_object_foreach (entries, key, entry)
        if (!may_stand_beside(reader, key, entry) && !rope_reader_is_among(key, reader->request->ignored))
            return key;
    return NULL;
}

/* Refuses queries that grow with their position, as those of Mistral do, where the caller would not scale them. */
static rotary_status check_queries(const struct rope_reader *reader)
{
    static const char key[] = "llama_4_scaling_beta";
    const json_t *beta = rope_reader_find(reader, key);
    if (!beta || reader->request->scales_queries || (json_is_number(beta) && json_number_value(beta) == 0) ||
        rope_reader_is_among(key, reader->request->ignored))
        return ROTARY_OK;
    return rope_reader_refuse_value(reader, key, beta,
                                    "0: no query is multiplied by a number that grows with its position");
}

/* A key of a scaling that is spelled as Grok 2 does, among those of the model; NULL if there is none. */
static const char *find_unread_scaling(const struct rope_reader *reader)
{
    static const char *const keys[] = {"scaling_factor", "extrapolation_factor", "attn_factor", NULL};
    for (const char *const *key = keys; *key; key++)
        if (json_field_value(reader->parameters, *key) &&
            !rope_reader_is_among(*key, reader->request->ignored))
            return *key;
    return NULL;
}

rotary_status rope_keys_check(const struct rope_reader *reader)
{
    rotary_status status = check_queries(reader);
    if (status)
        return status;
    const char *key = find_unknown(reader, reader->text_config, is_known_of_model);
    if (key)
        return refuse_key(reader, NULL, key);
    key = find_unknown(reader, json_field_value(reader->text_config, "attn_config"), is_known_of_attention);
    if (key)
        return refuse_key(reader, "attn_config", key);
    if (reader->parameters == reader->text_config && (key = find_unread_scaling(reader)) != NULL)
        return refuse_key(reader, NULL, key);
    if (reader->parameters != reader->text_config)
        key = find_unknown(reader, reader->parameters, rope_keys_is_parameter);
    if (key)
        return refuse_key(reader, reader->parameters_key, key);
    key = find_unread_beside(reader);
    if (key && rope_keys_is_parameter(key))
        return rope_reader_refuse_value(reader, key, json_object_get(reader->shared, key),
                                        "it among the parameters of each layer type: it stands beside them");
    return key ? refuse_key(reader, reader->parameters_key, key) : ROTARY_OK;
}

/* ---- models ---- */

/* What a key must not be. */
enum refused {
    REFUSED_TRUE,
    REFUSED_FALSE,
    REFUSED_NOT_TRUE,
    REFUSED_PRESENT,
    REFUSED_NOT_ROTARY,
    REFUSED_UNEVEN,
    REFUSED_CHUNKS,
    REFUSED_POSITIVE,
    REFUSED_OBJECT
};

/* Keys by which a model says that it rotates in another way, or not at all. */
static const struct {
    const char *key;
    enum refused refused;
    const char *wanted;
} rules[] = {
    {"position_encoding_2d", REFUSED_TRUE, "false: one half of each head rotates by the number of its block"},
    {"use_dynamic_ntk", REFUSED_TRUE, "false: its base grows in steps beyond the original context"},
    {"use_logn_attn", REFUSED_TRUE, "false: queries are multiplied by a logarithm of their position"},
    {"alibi", REFUSED_TRUE, "false: ALiBi has no rotation"},
    {"use_alibi", REFUSED_TRUE, "false: ALiBi has no rotation"},
    {"position_embedding_type", REFUSED_NOT_ROTARY, "rotary or rope"},
    {"rotary", REFUSED_NOT_TRUE, "true"},
    {"rope", REFUSED_NOT_TRUE, "true"},
    {"original_rope", REFUSED_NOT_TRUE, "true"},
    {"use_rope", REFUSED_FALSE, "true: the model has no rotation"},
    {"use_rotary_pos_emb", REFUSED_FALSE, "true: the model has no rotation"},
    {"use_mem_rope", REFUSED_FALSE, "true: the model has no rotation"},
    {"partial_rotary_factors", REFUSED_PRESENT, "one \"partial_rotary_factor\" for all layers"},
    {"layer_rope_theta", REFUSED_UNEVEN, "one base for all layers"},
    {"dual_chunk_attention_config", REFUSED_CHUNKS, "null: positions depend on chunks"},
    {"attn_temperature_len", REFUSED_POSITIVE,
     "0: no score is multiplied by a number that grows with its query's position"},
    {"yarn", REFUSED_OBJECT,
     "null, and \"rope_scaling\" or \"rope_parameters\", as the model's config.json has"},
    {"llama_4_scaling", REFUSED_OBJECT, "null, and \"rope_parameters\", as the model's config.json has"},
};

/* Whether a list has different bases; 0 is that of layers without rotation. */
static bool is_uneven(const json_t *list)
{
    double first = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double number = json_number_value(json_array_get(list, i));
        if (first > 0 && number > 0 && number != first)
            return true;
        first = first > 0 ? first : number;
    }
    return false;
}

static bool is_refused(enum refused refused, const json_t *value)
{
    const char *text = json_string_value(value);
    switch (refused) {
    case REFUSED_TRUE:
        return json_is_true(value);
    case REFUSED_FALSE:
        return json_is_false(value);
    case REFUSED_NOT_TRUE:
        return value && !json_is_true(value);
    case REFUSED_PRESENT:
    case REFUSED_CHUNKS:
        return value != NULL;
    case REFUSED_NOT_ROTARY:
        return text && !strstr(text, "rope") && !strstr(text, "rotary"); /* Cohere 2's is "rope_gptj" */
    case REFUSED_UNEVEN:
        return is_uneven(value);
    case REFUSED_POSITIVE:
        return json_number_value(value) > 0;
    case REFUSED_OBJECT:
        return json_is_object(value);
    }
    return false;
}

/* Whether all keys of a family's rules are in the file (`present`), or none of them is. */
static rotary_status check_presence(const struct rope_reader *reader, json_t *rules_of_family, bool present)
{
    const char *key;
    json_t *wanted;
    json_object_foreach (rules_of_family, key, wanted) {
        const json_t *value = json_field_value(reader->text_config, key);
        if ((value != NULL) == present || rope_reader_is_among(key, reader->request->ignored))
            continue;
        char option[ROPE_READER_OPTION_BYTES];
        return value ? rope_reader_refuse_value(reader, key, value, json_string_value(wanted))
                     : rotary_fail(reader->error, ROTARY_BAD_FILE, "%s has no \"%s\", wanted %s%s",
                                   reader->where, key, json_string_value(wanted),
                                   rope_reader_or_ignore(reader, key, option));
    }
    return ROTARY_OK;
}

/* Whether a key of the model names a rotation. */
static bool has_rotation_key(const struct rope_reader *reader)
{
    json_t *entries = (json_t *)(uintptr_t)reader->text_config;
    const char *key;
    json_t *value;
    json_object_foreach (entries, key, value)
        if (names_rotation(key) && !json_is_null(value))
            return true;
    return false;
}

/* Whether the caller takes what the key says, or the key changes no rotation of this family, so that it may
 * have any value. ModernBERT's published files say "absolute", which transformers does not look at. */
static bool is_accepted(const struct rope_reader *reader, enum refused refused)
{
    const struct rope_family *family = &reader->family;
    if (refused == REFUSED_CHUNKS)
        return reader->request->attends;
    return refused == REFUSED_NOT_ROTARY && family->known && !family->reads_position_embedding_type;
}

static rotary_status check_rules(const struct rope_reader *reader)
{
    const json_t *attention = json_field_value(reader->text_config, "attn_config");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const json_t *value = json_field_value(reader->text_config, rules[i].key);
        if (!value) /* MPT's */
            value = json_field_value(attention, rules[i].key);
        if (is_refused(rules[i].refused, value) && !is_accepted(reader, rules[i].refused) &&
            !rope_reader_is_among(rules[i].key, reader->request->ignored))
            return rope_reader_refuse_value(reader, rules[i].key, value, rules[i].wanted);
    }
    return ROTARY_OK;
}

/* Refuses the configuration of a tower without its type (Qwen2-VL's published vision_config has none; others
 * have that of the complete model): nothing else says that its positions are two. */
static rotary_status check_tower(const struct rope_reader *reader)
{
    const struct rope_family *family = &reader->family;
    const json_t *heads = json_field_value(reader->text_config, "num_heads");
    const json_t *patch = json_field_value(reader->text_config, "patch_size");
    if (json_field_value(reader->text_config, "num_attention_heads"))
        heads = NULL;
    const char *key = heads ? "num_heads" : patch && !family->known ? "patch_size" : NULL;
    bool described = family->tower || json_field_value(reader->text_config, "mrope_section");
    if (!key || described || family->without_rotation || family->unsupported[0] ||
        rope_reader_is_among(key, reader->request->ignored))
        return ROTARY_OK;
    return rope_reader_refuse_value(
        reader, key, heads ? heads : patch,
        "beside it the tower's \"model_type\", such as \"qwen2_vl_vision\" or \"pixtral\", "
        "or \"axes\" and \"mrope_section\"");
}

/* Refuses keys that are compressed by a model whose type is not known: nothing else says how it rotates. */
static rotary_status check_compression(const struct rope_reader *reader)
{
    static const char key[] = "compress_rope_theta";
    const json_t *base = json_field_value(reader->text_config, key);
    if (!base || reader->family.rope_parameters || rope_reader_is_among(key, reader->request->ignored))
        return ROTARY_OK;
    return rope_reader_refuse_value(reader, key, base,
                                    "beside it the \"model_type\" of a model that compresses keys, such as "
                                    "\"deepseek_v4\"");
}

rotary_status rope_keys_check_model(const struct rope_reader *reader)
{
    const struct rope_family *family = &reader->family;
    rotary_status status = check_rules(reader);
    if (!status)
        status = check_tower(reader);
    if (!status)
        status = check_compression(reader);
    if (!status)
        status = check_presence(reader, family->required, true);
    if (!status)
        status = check_presence(reader, family->refused, false);
    if (status || !reader->model_type || rope_reader_is_among("model_type", reader->request->ignored))
        return status;
    const char *unsupported = family->unsupported;
    if (family->without_rotation && !has_rotation_key(reader))
        unsupported = "has no rotary embedding";
    char option[ROPE_READER_OPTION_BYTES];
    return unsupported[0]
               ? rotary_fail(reader->error, ROTARY_BAD_FILE,
                             "%s: a model of type \"%.60s\" %s; wanted one whose rotation RoPE can "
                             "express%s",
                             reader->where, reader->model_type, unsupported,
                             rope_reader_or_ignore(reader, "model_type", option))
               : ROTARY_OK;
}
