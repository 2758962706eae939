/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/config_keys.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdint.h>
#include <stdlib.h>

/* The rows of a list ("refused", "unused") for a kind and for a model type; entries may be NULL. */
struct key_lists {
    json_t *table, *lists[2];
};

static rotary_status find_lists(struct key_lists *found, const char *list, const char *kind,
                                const char *model_type, rotary_error *error)
{
    const char *const names[] = {kind, model_type};
    json_t *table = json_loads(config_keys_json, JSON_REJECT_DUPLICATES, NULL);
    if (!table)
        return rotary_fail_memory(error, "for config_keys.json");
    *found = (struct key_lists){.table = table};
    for (int i = 0; i < 2; i++)
        if (names[i])
            found->lists[i] = json_object_get(json_object_get(table, names[i]), list);
    return ROTARY_OK;
}

/* Whether the value is one with which the key does nothing; 1.0 is 1. */
static bool does_nothing(const json_t *value, const json_t *unless)
{
    if (!value || json_is_null(value))
        return true;
    for (size_t i = 0; i < json_array_size(unless); i++) {
        const json_t *allowed = json_array_get(unless, i);
        if (json_equal(value, allowed) || (json_is_number(value) && json_is_number(allowed) &&
                                           json_number_value(value) == json_number_value(allowed)))
            return true;
    }
    return false;
}

static rotary_status refuse(const char *key, const json_t *value, const json_t *row, const char *path,
                            rotary_error *error)
{
    char *text = file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    rotary_status status = rotary_fail(error, ROTARY_UNSUPPORTED, "%s: \"%s\" is %.60s: %s", path, key, text,
                                       json_string_value(json_object_get(row, "why")));
    free(text);
    return status;
}

rotary_status config_keys_check(const json_t *object, const char *kind, const char *model_type,
                                const char *path, rotary_error *error)
{
    struct key_lists refused = {0};
    rotary_status status = find_lists(&refused, "refused", kind, model_type, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < 2; i++) {
        const char *key;
        json_t *row;
        json_object_foreach (refused.lists[i], key, row) {
            const json_t *value = json_object_get(object, key);
            if (status == ROTARY_OK && !does_nothing(value, json_object_get(row, "unless")))
                status = refuse(key, value, row, path, error);
        }
    }
    json_decref(refused.table);
    return status;
}

rotary_status config_keys_used(const json_t *object, const char *kind, const char *model_type, json_t **used,
                               rotary_error *error)
{
    struct key_lists unused = {0};
    rotary_status status = find_lists(&unused, "unused", kind, model_type, error);
    if (status != ROTARY_OK)
        return status;
    json_t *copy = json_copy((json_t *)(uintptr_t)object); /* jansson's parameter is not const */
    for (int i = 0; i < 2; i++) {
        const char *key;
        json_t *why;
        json_object_foreach (unused.lists[i], key, why)
            json_object_del(copy, key);
    }
    json_decref(unused.table);
    *used = copy;
    return ROTARY_OK;
}
