/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON files.
 */
#include "file/file.h"

#include "base/fail.h"
#include "file/json_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rotary_status file_read_json(const char *path, json_t **object, rotary_error *error)
{
    return file_read_long_json(path, FILE_JSON_BYTES, object, error);
}

/* What to change, where the error is one that people make when they write JSON by hand. */
static const char *remedy(const char *error)
{
    static const struct {
        const char *error, *remedy;
    } known[] = {
        {"string or '}' expected near '}'", "; the comma before } is one too many"},
        {"unexpected token near ']'", "; the comma before ] is one too many"},
        {"near '''", "; names and texts stand in double quotes"},
        {"near '/'", "; JSON has no comments"},
        {"near '#'", "; JSON has no comments"},
        {"near 'True'", "; wanted true"},
        {"near 'False'", "; wanted false"},
        {"near 'None'", "; wanted null"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(error, known[i].error))
            return known[i].remedy;
    return "";
}

static rotary_status parse(const char *path, const char *text, size_t count, size_t flags, json_t **object,
                           rotary_error *error)
{
    json_error_t wrong;
    if (count == 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is empty, wanted a JSON object", path);
    json_t *read = json_numbers_load(text, count, JSON_REJECT_DUPLICATES | flags, false, &wrong);
    if (!read)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %d, column %d: %s%s", path, wrong.line,
                           wrong.column, wrong.text, remedy(wrong.text));
    if (!json_is_object(read)) {
        json_decref(read);
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds no JSON object: it does not start with {", path);
    }
    *object = read;
    return ROTARY_OK;
}

rotary_status file_parse_json(const char *path, const char *text, size_t count, json_t **object,
                              rotary_error *error)
{
    return parse(path, text, count, 0, object, error);
}

static rotary_status read_file(const char *path, size_t max, size_t flags, json_t **object,
                               rotary_error *error)
{
    char *text;
    size_t count;
    rotary_status status = file_read(path, max, &text, &count, error);
    if (status != ROTARY_OK)
        return status;
    status = parse(path, text, count, flags, object, error);
    free(text);
    return status;
}

rotary_status file_read_long_json(const char *path, size_t max, json_t **object, rotary_error *error)
{
    return read_file(path, max, 0, object, error);
}

rotary_status file_read_real_json(const char *path, json_t **object, rotary_error *error)
{
    return read_file(path, FILE_JSON_BYTES, JSON_DECODE_INT_AS_REAL, object, error);
}

rotary_status file_check_format(const char *path, const json_t *object, int wanted, rotary_error *error)
{
    const json_t *format = json_object_get(object, "format");
    if (!json_is_integer(format))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no valid \"format\": wanted %d", path, wanted);
    if (json_integer_value(format) != wanted)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has format %lld, of another version of this program; this one reads format %d",
                           path, (long long)json_integer_value(format), wanted);
    return ROTARY_OK;
}

/* The fewest significant digits, from `digits` to 17, with which every real number in `value` is read back
 * exactly. */
static int digits_needed(const json_t *value, int digits)
{
    if (json_is_real(value)) {
        char text[64];
        for (; digits < 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, json_real_value(value));
            if (strtod(text, NULL) == json_real_value(value))
                break;
        }
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++)
            digits = digits_needed(json_array_get(value, i), digits);
    } else if (json_is_object(value)) {
        json_t *entries = (json_t *)(uintptr_t)value; /* jansson cannot iterate over a const object */
        const char *key;
        json_t *entry;
        json_object_foreach (entries, key, entry) {
            digits = digits_needed(entry, digits);
        }
    }
    return digits;
}

const char *file_json_name(const json_t *value)
{
    return json_string_value(json_is_object(value) ? json_object_get(value, "name") : value);
}

json_t *file_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

char *file_json_text(const json_t *value, size_t flags)
{
    return json_dumps(value, flags | JSON_REAL_PRECISION((size_t)digits_needed(value, 1)));
}

rotary_status file_replace_json(const char *path, const json_t *object, rotary_error *error)
{
    char *text = file_json_text(object, JSON_INDENT(2));
    struct file_part parts[] = {{.bytes = text, .count = strlen(text)}, {.bytes = "\n", .count = 1}};
    rotary_status status = file_replace_parts(path, parts, 2, error);
    free(text);
    return status;
}

void file_json_append(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}
