/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/decoder_family.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

static const char where[] = "decoder_families.json";

static rotary_status parse_table(json_t **table, rotary_error *error)
{
    json_error_t wrong;
    *table = json_loads(decoder_families_json, JSON_REJECT_DUPLICATES, &wrong);
    return *table ? ROTARY_OK
                  : rotary_fail(error, ROTARY_BAD_FILE, "%s, line %d, column %d: %s", where, wrong.line,
                                wrong.column, wrong.text);
}

/* Adds the members of an object that it lacks. Nothing is done where either has no such object. */
static void inherit_members(json_t *family, const json_t *parent, const char *key)
{
    json_t *own = json_object_get(family, key), *other = json_object_get(parent, key);
    if (own && other)
        json_object_update_missing(own, other);
}

/* Adds the entries of the family that it is like, and of the one that that is like; and single defaults and
 * tensors. */
static void inherit(json_t *family, const json_t *table)
{
    enum { MAX_DEPTH = 4 };
    const char *like = json_string_value(json_object_get(family, "like"));
    for (int depth = 0; like && depth < MAX_DEPTH; depth++) {
        json_t *parent = json_object_get(table, like);
        inherit_members(family, parent, "defaults");
        inherit_members(family, parent, "tensors");
        json_object_update_missing(family, parent);
        like = json_string_value(json_object_get(parent, "like"));
    }
}

rotary_status decoder_family_find(const char *model_type, json_t **family, rotary_error *error)
{
    json_t *table;
    rotary_status status = parse_table(&table, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *entry = json_object_get(table, model_type);
    *family = NULL;
    if (entry) {
        *family = json_deep_copy(entry);
        inherit(*family, table);
    }
    json_decref(table);
    return status;
}

const char *decoder_family_names(char text[DECODER_FAMILY_NAMES_BYTES])
{
    json_t *table;
    size_t used = 0, left;
    text[0] = 0;
    if (parse_table(&table, NULL) != ROTARY_OK)
        return text;
    left = json_object_size(table);
    const char *name;
    json_t *entry;
    json_object_foreach (table, name, entry) {
        left--;
        int added = snprintf(text + used, DECODER_FAMILY_NAMES_BYTES - used, "%s%s", name,
                             left > 1    ? ", "
                             : left == 1 ? " or "
                                         : "");
        used += added > 0 && (size_t)added < DECODER_FAMILY_NAMES_BYTES - used ? (size_t)added : 0;
    }
    json_decref(table);
    return text;
}
