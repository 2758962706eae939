/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_reader.h"

#include "base/fail.h"
#include "config/settings.h"
#include "file/file.h"
#include "file/json_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

const json_t *rope_reader_value(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const json_t *rope_reader_find(const struct rope_reader *reader, const char *key)
{
    const json_t *value = rope_reader_value(reader->parameters, key);
    return value ? value : rope_reader_value(reader->text_config, key);
}

rotary_status rope_reader_refuse(const struct rope_reader *reader, const char *key, const json_t *got,
                                 const char *wanted)
{
    const char *no_double = json_numbers_float(got);
    char *text = no_double ? strdup(no_double) : file_json_text(got, JSON_ENCODE_ANY | JSON_COMPACT);
    rotary_status status =
        rotary_fail(reader->error, ROTARY_BAD_FILE, "%s: \"%s\" is %.60s%s, wanted %s", reader->where, key,
                    text ? text : "?", text && strlen(text) > 60 ? "..." : "", wanted);
    free(text);
    return status;
}

rotary_status rope_reader_refuse_absent(const struct rope_reader *reader, const char *key,
                                        const char *needed_by)
{
    return rotary_fail(reader->error, ROTARY_BAD_FILE, "%s has no \"%s\", which %s needs", reader->where, key,
                       needed_by);
}

rotary_status rope_reader_real(const struct rope_reader *reader, const char *key, const json_t *value,
                               enum rope_reader_range range, double *real)
{
    static const char *const wanted[] = {[ROPE_READER_ANY] = "a number",
                                         [ROPE_READER_NOT_NEGATIVE] = "a number from 0 up",
                                         [ROPE_READER_POSITIVE] = "a number above 0"};
    double number = json_number_value(value);
    if (!value)
        return ROTARY_OK;
    if (!json_is_number(value) || !isfinite(number) || (range == ROPE_READER_NOT_NEGATIVE && number < 0) ||
        (range == ROPE_READER_POSITIVE && number <= 0))
        return rope_reader_refuse(reader, key, value, wanted[range]);
    *real = number;
    return ROTARY_OK;
}

rotary_status rope_reader_integer(const struct rope_reader *reader, const char *key, const json_t *value,
                                  int64_t min, int64_t *integer)
{
    double number = json_number_value(value);
    if (!value)
        return ROTARY_OK;
    if (!json_is_number(value) || !(number >= (double)min && number <= 0x1p53) || floor(number) != number) {
        char wanted[TEXT_BYTES];
        snprintf(wanted, sizeof wanted, "a whole number from %lld up", (long long)min);
        return rope_reader_refuse(reader, key, value, wanted);
    }
    *integer = (int64_t)number;
    return ROTARY_OK;
}

rotary_status rope_reader_boolean(const struct rope_reader *reader, const char *key, const json_t *value,
                                  bool *boolean)
{
    if (value && !json_is_boolean(value))
        return rope_reader_refuse(reader, key, value, "true or false");
    *boolean = value ? json_is_true(value) : *boolean;
    return ROTARY_OK;
}

rotary_status rope_reader_choice(const struct rope_reader *reader, const char *key, const json_t *value,
                                 const char *const *names, int *index)
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
    return rope_reader_refuse(reader, key, value, wanted);
}
