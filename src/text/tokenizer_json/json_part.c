/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/json_part.h"

#include "base/fail.h"
#include "config/json_fields.h"

#include <string.h>

enum { MAX_DEPTH = 4 };

const char *json_part_type(const struct json_part *part)
{
    const char *type = json_string_value(json_object_get(part->object, "type"));
    return type ? type : "";
}

const char *json_model_type(const json_t *model)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    const json_t *vocabulary = json_object_get(model, "vocab");
    if (type || !vocabulary)
        return type ? type : "";
    if (json_is_array(vocabulary))
        return "Unigram";
    if (json_object_get(model, "merges"))
        return "BPE";
    return json_object_get(model, "continuing_subword_prefix") &&
                   json_object_get(model, "max_input_chars_per_word")
               ? "WordPiece"
               : "WordLevel";
}

rotary_status json_part_refuse(const struct json_part *part, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: a %s of type \"%.80s\" is not supported", part->path,
                       part->what, json_part_type(part));
}

static struct json_source source_of(const struct json_part *part)
{
    return (struct json_source){.path = part->path, .what = part->what, .type = json_part_type(part)};
}

rotary_status json_part_fail(const struct json_part *part, const char *key, const char *wanted,
                             rotary_error *error)
{
    const struct json_source source = source_of(part);
    return json_field_fail(&source, key, json_object_get(part->object, key), wanted, error);
}

rotary_status json_part_flag(const struct json_part *part, const char *key, bool *value, rotary_error *error)
{
    const struct json_source source = source_of(part);
    return json_field_boolean(&source, key, json_field_value(part->object, key), value, error);
}

rotary_status json_part_text(const struct json_part *part, const char *key, bool optional, const char **value,
                             rotary_error *error)
{
    const struct json_source source = source_of(part);
    const json_t *found = json_field_value(part->object, key);
    return found || optional ? json_field_text(&source, key, found, value, error)
                             : json_part_fail(part, key, "a text", error);
}

rotary_status json_part_pattern(const struct json_part *part, const char **literal, const char **expression,
                                rotary_error *error)
{
    const json_t *pattern = json_object_get(part->object, "pattern");
    *literal = json_string_value(json_object_get(pattern, "String"));
    *expression = json_string_value(json_object_get(pattern, "Regex"));
    if (json_object_size(pattern) != 1 || (!*literal && !*expression))
        return json_part_fail(part, "pattern", "{\"String\": text} or {\"Regex\": text}", error);
    if (*literal && !**literal)
        return json_part_fail(part, "pattern", "a text that is not empty", error);
    return ROTARY_OK;
}

rotary_status json_part_compile(const struct json_part *part, struct pattern **pattern,
                                const char *expression, rotary_error *error)
{
    rotary_error reason;
    rotary_status status = pattern_create(pattern, expression, &reason);
    if (status == ROTARY_OK)
        return status;
    return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: the %s: %s",
                       part->path, part->what, reason.message);
}

struct walk {
    const char *key; /* of the list of a sequence */
    json_part_read *read;
    void *context;
    int count;
};

static rotary_status read_parts(struct walk *walk, const struct json_part *part, int depth,
                                rotary_error *error)
{
    if (strcmp(json_part_type(part), "Sequence") != 0) {
        if (++walk->count > JSON_PARTS_MAX)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: the %s has more than %d parts", part->path,
                               part->what, (int)JSON_PARTS_MAX);
        return walk->read(walk->context, part, error);
    }
    const json_t *list = json_object_get(part->object, walk->key);
    if (!json_is_array(list) || depth == MAX_DEPTH)
        return json_part_fail(part, walk->key, "a list of parts, without sequences of many sequences", error);
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < json_array_size(list) && status == ROTARY_OK; i++) {
        const struct json_part item = {json_array_get(list, i), part->what, part->path};
        status = read_parts(walk, &item, depth + 1, error);
    }
    return status;
}

rotary_status json_part_each(const struct json_part *part, const char *key, json_part_read *read,
                             void *context, rotary_error *error)
{
    struct walk walk = {.key = key, .read = read, .context = context};
    if (!part->object || json_is_null(part->object))
        return ROTARY_OK;
    return read_parts(&walk, part, 0, error);
}
