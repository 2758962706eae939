/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_reader.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

static struct json_source source_of(const struct rope_reader *reader)
{
    return (struct json_source){.path = reader->where};
}

const json_t *rope_reader_find(const struct rope_reader *reader, const char *key)
{
    const json_t *value = json_field_value(reader->parameters, key);
    return value ? value : json_field_value(reader->text_config, key);
}

bool rope_reader_is_among(const char *key, const char *const *keys)
{
    for (; keys && *keys; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

rotary_status rope_reader_refuse(const struct rope_reader *reader, const char *key, const json_t *got,
                                 const char *wanted)
{
    const struct json_source source = source_of(reader);
    return json_field_fail(&source, key, got, wanted, reader->error);
}

const char *rope_reader_or_ignore(const struct rope_reader *reader, const char *key,
                                  char text[ROPE_READER_OPTION_BYTES])
{
    const char *option = reader->request->ignore_option;
    text[0] = 0;
    if (!reader->request->of_settings)
        snprintf(text, ROPE_READER_OPTION_BYTES, ", or %.20s %.60s", option ? option : "--ignore", key);
    return text;
}

rotary_status rope_reader_refuse_value(const struct rope_reader *reader, const char *key, const json_t *value,
                                       const char *wanted)
{
    char text[320], option[ROPE_READER_OPTION_BYTES];
    const int end = (int)strcspn(wanted, ":");
    snprintf(text, sizeof text, "%.*s%s%s", end, wanted, rope_reader_or_ignore(reader, key, option),
             wanted + end);
    return rope_reader_refuse(reader, key, value, text);
}

rotary_status rope_reader_refuse_absent(const struct rope_reader *reader, const char *key,
                                        const char *needed_by)
{
    return rotary_fail(reader->error, ROTARY_BAD_FILE, "%s has no \"%s\", which %s needs", reader->where, key,
                       needed_by);
}

rotary_status rope_reader_real(const struct rope_reader *reader, const char *key, const json_t *value,
                               enum json_range range, double *real)
{
    const struct json_source source = source_of(reader);
    return json_field_real(&source, key, value, range, real, reader->error);
}

rotary_status rope_reader_integer(const struct rope_reader *reader, const char *key, const json_t *value,
                                  int64_t min, int64_t *integer)
{
    const struct json_source source = source_of(reader);
    return json_field_integer(&source, key, value, min, integer, reader->error);
}

rotary_status rope_reader_boolean(const struct rope_reader *reader, const char *key, const json_t *value,
                                  bool *boolean)
{
    const struct json_source source = source_of(reader);
    return json_field_boolean(&source, key, value, boolean, reader->error);
}

rotary_status rope_reader_choice(const struct rope_reader *reader, const char *key, const json_t *value,
                                 const char *const *names, int *index)
{
    const struct json_source source = source_of(reader);
    return json_field_choice(&source, key, value, names, index, reader->error);
}
