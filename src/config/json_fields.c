/* SPDX-License-Identifier: Apache-2.0 */
#include "config/json_fields.h"

#include "base/fail.h"
#include "config/settings.h"
#include "file/file.h"
#include "file/json_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256, MAX_SHOWN = 60 };

static const int64_t max_count = ((int64_t)1 << 53) - 1; /* a JSON number is exact up to here */

const json_t *json_field_value(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

/* Where a value is: "metrics.jsonl, line 3" or "tokenizer.json: the normalizer "Replace"". */
static void describe(const struct json_source *source, char text[TEXT_BYTES])
{
    text[0] = '\0';
    if (source->what)
        snprintf(text, TEXT_BYTES, ": the %s \"%.80s\"", source->what, source->type);
    else if (source->line > 0)
        snprintf(text, TEXT_BYTES, ", line %lld", (long long)source->line);
}

rotary_status json_field_fail(const struct json_source *source, const char *key, const json_t *value,
                              const char *wanted, rotary_error *error)
{
    char where[TEXT_BYTES];
    const char *no_double = json_numbers_float(value);
    char *text = no_double ? strdup(no_double)
                 : value   ? file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT)
                           : strdup("missing");
    describe(source, where);
    rotary_status status = rotary_fail(
        error, ROTARY_BAD_FILE, "%s%s: \"%s\" is %.*s%s, wanted %s", source->path, where, key, (int)MAX_SHOWN,
        text ? text : "not printable", text && strlen(text) > MAX_SHOWN ? "..." : "", wanted);
    free(text);
    return status;
}

rotary_status json_field_real(const struct json_source *source, const char *key, const json_t *value,
                              enum json_range range, double *real, rotary_error *error)
{
    static const char *const wanted[] = {[JSON_ANY] = "a number",
                                         [JSON_NOT_NEGATIVE] = "a number from 0 up",
                                         [JSON_POSITIVE] = "a number above 0"};
    const double number = json_number_value(value);
    if (!value)
        return ROTARY_OK;
    if (!json_is_number(value) || !isfinite(number) || (range == JSON_NOT_NEGATIVE && number < 0) ||
        (range == JSON_POSITIVE && number <= 0))
        return json_field_fail(source, key, value, wanted[range], error);
    *real = number;
    return ROTARY_OK;
}

rotary_status json_field_integer(const struct json_source *source, const char *key, const json_t *value,
                                 int64_t min, int64_t *integer, rotary_error *error)
{
    const double number = json_number_value(value);
    if (!value)
        return ROTARY_OK;
    if (!json_is_number(value) || !(number >= (double)min && number <= 0x1p53) || floor(number) != number) {
        char wanted[TEXT_BYTES];
        snprintf(wanted, sizeof wanted, "a whole number from %lld up", (long long)min);
        return json_field_fail(source, key, value, wanted, error);
    }
    *integer = (int64_t)number;
    return ROTARY_OK;
}

rotary_status json_field_boolean(const struct json_source *source, const char *key, const json_t *value,
                                 bool *boolean, rotary_error *error)
{
    if (value && !json_is_boolean(value))
        return json_field_fail(source, key, value, "true or false", error);
    *boolean = value ? json_is_true(value) : *boolean;
    return ROTARY_OK;
}

rotary_status json_field_text(const struct json_source *source, const char *key, const json_t *value,
                              const char **text, rotary_error *error)
{
    if (value && !json_is_string(value))
        return json_field_fail(source, key, value, "a text", error);
    *text = value ? json_string_value(value) : *text;
    return ROTARY_OK;
}

rotary_status json_field_choice(const struct json_source *source, const char *key, const json_t *value,
                                const char *const *names, int *index, rotary_error *error)
{
    const char *text = json_string_value(value);
    if (!value)
        return ROTARY_OK;
    for (int i = 0; text && names[i]; i++)
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return ROTARY_OK;
        }
    char known[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES] = "";
    char wanted[SETTINGS_NAMES_BYTES + SETTINGS_HINT_BYTES];
    if (text)
        settings_hint(text, names, hint);
    snprintf(wanted, sizeof wanted, "%s%s", settings_names(names, known), hint);
    return json_field_fail(source, key, value, wanted, error);
}

rotary_status json_field_count(const struct json_source *source, const json_t *object, const char *key,
                               int64_t *count, rotary_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max_count)
        return json_field_fail(source, key, value, "a whole number from 0 to 9007199254740991", error);
    *count = json_integer_value(value);
    return ROTARY_OK;
}

rotary_status json_field_measured(const struct json_source *source, const json_t *object, const char *key,
                                  double *real, rotary_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) && !json_is_null(value))
        return json_field_fail(source, key, value, "a number", error);
    *real = json_is_null(value) ? (double)NAN : json_number_value(value);
    return ROTARY_OK;
}
