/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/model_types.h"

#include "base/fail.h"
#include "config/settings.h"
#include "rope_config/rope_axes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char where[] = "model_types.json";

#define MEMBER(member) offsetof(struct rope_family, member)
#define INTEGER(key)                                                                                         \
    {                                                                                                        \
#key, SETTING_INTEGER, MEMBER(key), .min = 1, .max = 0x1p53                                          \
    }
static const struct setting keys[] = {
    INTEGER(head_dim),
    INTEGER(qk_rope_head_dim),
    INTEGER(rotary_dim),
    {"partial_rotary_factor", SETTING_REAL, MEMBER(partial_rotary_factor), .min = 0x1p-20, .max = 1},
    INTEGER(hidden_size),
    INTEGER(num_attention_heads),
    INTEGER(max_position_embeddings),
    INTEGER(original_max_position_embeddings),
    {"rope_theta", SETTING_REAL, MEMBER(rope_theta), .min = 1, .max = 1e300},
    {"pairing", SETTING_CHOICE, MEMBER(pairing), .choices = rope_config_pairings},
    {"span", SETTING_CHOICE, MEMBER(span), .choices = rope_config_spans},
    {"axes", SETTING_CHOICE, MEMBER(axes), .choices = rope_axes_names},
    {"tower", SETTING_CHOICE, MEMBER(tower), .choices = rope_tower_names},
    INTEGER(embed_dim),
    {"reads_position_embedding_type", SETTING_BOOLEAN, .offset = MEMBER(reads_position_embedding_type)},
    {"rotates_values", SETTING_BOOLEAN, .offset = MEMBER(rotates_values)},
    {"unit_scale", SETTING_BOOLEAN, .offset = MEMBER(unit_scale)},
    {"ntk_divides", SETTING_BOOLEAN, .offset = MEMBER(ntk_divides)},
    {"unsupported", SETTING_TEXT, .offset = MEMBER(unsupported)},
};

/* Moves the object at `key` out of `entry`; *object stays NULL if there is none. */
static rotary_status move_object(json_t *entry, const char *key, json_t **object, const char *label,
                                 rotary_error *error)
{
    json_t *value = json_object_get(entry, key);
    if (value && !json_is_object(value))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" is no object", label, key);
    *object = json_incref(value);
    json_object_del(entry, key);
    return ROTARY_OK;
}

/* Values of "required" and "refused" say what is wanted. */
static rotary_status check_rules(json_t *rules, const char *label, rotary_error *error)
{
    const char *key;
    json_t *wanted;
    json_object_foreach (rules, key, wanted)
        if (!json_is_string(wanted))
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" has a rule that is no text", label, key);
    return ROTARY_OK;
}

static rotary_status read_family(const json_t *entry, const char *model_type, struct rope_family *family,
                                 rotary_error *error)
{
    char label[128];
    snprintf(label, sizeof label, "%s, %.80s", where, model_type);
    const struct settings settings = {keys, sizeof keys / sizeof keys[0], family};
    json_t *numbers = json_copy((json_t *)(uintptr_t)entry); /* jansson's parameter is not const */
    rotary_status status = move_object(numbers, "rope_parameters", &family->rope_parameters, label, error);
    if (!status)
        status = move_object(numbers, "required", &family->required, label, error);
    if (!status)
        status = move_object(numbers, "refused", &family->refused, label, error);
    if (!status)
        status = check_rules(family->required, label, error);
    if (!status)
        status = check_rules(family->refused, label, error);
    if (!status)
        status = settings_read(&settings, 1, numbers, label, error);
    json_decref(numbers);
    return status;
}

static bool has_text(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *entry = json_string_value(json_array_get(array, i));
        if (entry && strcmp(entry, text) == 0)
            return true;
    }
    return false;
}

rotary_status model_types_find_in(const json_t *table, const char *model_type, struct rope_family *family,
                                  rotary_error *error)
{
    const json_t *types = json_object_get(table, "model_types");
    const json_t *without = json_object_get(table, "without_rotation");
    if (json_object_size(table) != 2 || !json_is_object(types) || !json_is_array(without))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: wanted an object \"model_types\" and an array \"without_rotation\"", where);
    const json_t *entry = json_object_get(types, model_type);
    struct rope_family found = {.without_rotation = has_text(without, model_type), .known = entry != NULL};
    if (entry && !json_is_object(entry))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, %.80s: wanted an object", where, model_type);
    if (entry) {
        rotary_status status = read_family(entry, model_type, &found, error);
        if (status) {
            rope_family_free(&found);
            return status;
        }
    }
    *family = found;
    return ROTARY_OK;
}

rotary_status model_types_find(const char *model_type, struct rope_family *family, rotary_error *error)
{
    json_error_t wrong;
    json_t *table = json_loads(model_types_json, JSON_REJECT_DUPLICATES, &wrong);
    if (!table)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %d, column %d: %s", where, wrong.line,
                           wrong.column, wrong.text);
    rotary_status status = model_types_find_in(table, model_type, family, error);
    json_decref(table);
    return status;
}
