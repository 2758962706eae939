/* SPDX-License-Identifier: Apache-2.0 */
#include "file/rope_keys.h"

#include "base/fail.h"
#include "file/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What rope_config.c reads, wherever it stands. */
static const char *const read_keys[] = {
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
    "rotary_pct",
    "rope_pct",
    "rotary_emb_fraction",
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
    /* Known to change no angle: whether the model was tuned with its scaling, and what Mistral multiplies its
     * queries by, position by position, after the turn. */
    "finetuned",
    "llama_4_scaling_beta",
    NULL,
};

/* What is read beside the parameters only, and has their name in its own. Which layers turn is not looked at,
 * nor that values do. */
static const char *const read_beside[] = {
    "rope_scaling",
    "rope_parameters",
    "rope_local_base_freq",
    "local_rope_theta",
    "swa_rope_theta",
    "global_rope_theta",
    "compress_rope_theta",
    "layer_rope_theta",
    "rope_interleave",
    "rope_ratio",
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
    NULL,
};

static bool is_among(const char *key, const char *const *keys)
{
    for (; keys && *keys; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

/* Whether one of its words begins with "rope" or "rotary", as in "qk_rope_head_dim"; "property" has none. */
static bool names_rotation(const char *key)
{
    for (const char *word = key; word; word = strchr(word, '_')) {
        word += *word == '_';
        if (strncmp(word, "rope", 4) == 0 || strncmp(word, "rotary", 6) == 0)
            return true;
    }
    return false;
}

static rotary_status refuse(const struct rope_reader *reader, const char *within, const char *key)
{
    const char *nearest = settings_nearest(key, read_keys);
    return rotary_fail(
        reader->error, ROTARY_BAD_FILE,
        "%s: %s%s%s has the key \"%.60s\", which is not known and may change the angles%s%s%s; "
        "wanted one that is known, or --ignore %.60s",
        reader->where, within ? "\"" : "the model", within ? within : "", within ? "\"" : "", key,
        nearest ? " (did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?)" : "", key);
}

rotary_status rope_keys_check(const struct rope_reader *reader)
{
    const json_t *const objects[] = {reader->text_config,
                                     reader->parameters == reader->text_config ? NULL : reader->parameters};
    for (int i = 0; i < 2; i++) {
        json_t *entries = (json_t *)(uintptr_t)objects[i]; /* jansson goes through none that is const */
        const char *key;
        json_t *value;
        json_object_foreach (entries, key, value) {
            bool beside = i == 0;
            bool concerns = !beside || names_rotation(key);
            bool known = is_among(key, read_keys) || (beside && is_among(key, read_beside)) ||
                         is_among(key, reader->ignored);
            if (concerns && !known && !json_is_null(value))
                return refuse(reader, beside ? NULL : reader->parameters_key, key);
        }
    }
    return ROTARY_OK;
}

/* ---- models ---- */

const struct rope_family *rope_keys_family(const char *type)
{
    const struct rope_family *model = rope_families;
    while (model->type && !(type && strcmp(type, model->type) == 0))
        model++;
    return model;
}

/* Whether a list has different numbers; 0 is that of layers that do not turn. */
static bool is_uneven(const json_t *list)
{
    double first = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double number = json_number_value(json_array_get(list, i));
        if (first > 0 && number > 0 && number != first) /* written alike */
            return true;
        first = first > 0 ? first : number;
    }
    return false;
}

static bool is_true(const json_t *value)
{
    return json_is_true(value);
}

static bool is_false(const json_t *value)
{
    return json_is_false(value);
}

static bool is_not_true(const json_t *value)
{
    return value && !json_is_true(value);
}

static bool is_absent(const json_t *value)
{
    return value == NULL;
}

static bool is_there(const json_t *value)
{
    return value != NULL;
}

static bool is_not_rotary(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && !strstr(text, "rope") && !strstr(text, "rotary"); /* Cohere 2's is "rope_gptj" */
}

/* Keys by which a model says that it turns in another way, or not at all. */
static const struct {
    const char *type; /* of the models that are meant; NULL: all */
    const char *key;
    bool (*holds)(const json_t *value);
    const char *wanted;
} rules[] = {
    {NULL, "position_encoding_2d", is_true, "false: half of each head turns by block, not by place"},
    {NULL, "use_dynamic_ntk", is_true, "false: its base grows in steps beyond the first context"},
    {NULL, "alibi", is_true, "false: slopes are no rotation"},
    {NULL, "use_alibi", is_true, "false: slopes are no rotation"},
    {NULL, "position_embedding_type", is_not_rotary, "rotary or rope"},
    {NULL, "rotary", is_not_true, "true"},
    {NULL, "rope", is_not_true, "true"},
    {NULL, "original_rope", is_not_true, "true"},
    {NULL, "use_rope", is_false, "true: it does not turn"},
    {NULL, "use_rotary_pos_emb", is_false, "true: it does not turn"},
    {NULL, "use_mem_rope", is_false, "true: it does not turn"},
    {NULL, "partial_rotary_factors", is_there, "one share for all layers"},
    {NULL, "layer_rope_theta", is_uneven, "one base for all layers"},
    {"baichuan", "max_position_embeddings", is_absent, "it: the 13B, which has none, does not turn"},
    {"esm", "position_embedding_type", is_absent, "rotary"},
    {"granitemoehybrid", "position_embedding_type", is_absent, "rope"},
    {"modernbert", "rope_scaling", is_there, "rope_parameters for each type of layer"},
    {"modernbert-decoder", "rope_scaling", is_there, "rope_parameters for each type of layer"},
    {"zamba2", "use_mem_rope", is_absent, "true"},
    {"zamba2", "attention_head_dim", is_absent, "it"},
};

static bool turns(const struct rope_reader *reader)
{
    json_t *entries = (json_t *)(uintptr_t)reader->text_config;
    const char *key;
    json_t *value;
    json_object_foreach (entries, key, value)
        if (names_rotation(key) && !json_is_null(value))
            return true;
    return false;
}

rotary_status rope_keys_check_model(const struct rope_reader *reader)
{
    const char *type = reader->model_type;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const char *key = rules[i].key;
        const json_t *value = rope_reader_value(reader->text_config, key);
        bool meant = !rules[i].type || (type && strcmp(rules[i].type, type) == 0);
        if (!meant || !rules[i].holds(value) || is_among(key, reader->ignored))
            continue;
        return value ? rope_reader_refuse(reader, key, value, rules[i].wanted)
                     : rotary_fail(reader->error, ROTARY_BAD_FILE,
                                   "%s has no \"%s\", wanted %s, or --ignore %s", reader->where, key,
                                   rules[i].wanted, key);
    }
    if (!type || is_among("model_type", reader->ignored))
        return ROTARY_OK;
    const char *why_not = reader->family->unsupported;
    if (is_among(type, rope_families_without_rotation) && !turns(reader))
        why_not = "has no rotary embedding";
    return why_not ? rotary_fail(reader->error, ROTARY_BAD_FILE,
                                 "%s: a model of type \"%.60s\" %s; wanted one that a configuration of RoPE "
                                 "can be, or --ignore model_type",
                                 reader->where, type, why_not)
                   : ROTARY_OK;
}
