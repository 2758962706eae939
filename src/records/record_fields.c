/* SPDX-License-Identifier: Apache-2.0 */
#include "records/record_fields.h"

#include "base/fail.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int64_t max_count = ((int64_t)1 << 53) - 1; /* a JSON number is exact up to here */

rotary_status record_field_fail(const struct record_source *source, const char *key, const json_t *value,
                                const char *wanted, rotary_error *error)
{
    char line[32] = "", *text = value ? file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (source->line > 0)
        snprintf(line, sizeof line, ", line %lld", (long long)source->line);
    rotary_status status =
        rotary_fail(error, ROTARY_BAD_FILE, "%s%s: \"%s\" is %.80s, wanted %s", source->path, line, key,
                    text    ? text
                    : value ? "not printable"
                            : "missing",
                    wanted);
    free(text);
    return status;
}

rotary_status record_field_count(const struct record_source *source, const json_t *object, const char *key,
                                 int64_t *count, rotary_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max_count)
        return record_field_fail(source, key, value, "a whole number from 0 to 9007199254740991", error);
    *count = json_integer_value(value);
    return ROTARY_OK;
}

rotary_status record_field_real(const struct record_source *source, const json_t *object, const char *key,
                                double *real, rotary_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) && !json_is_null(value))
        return record_field_fail(source, key, value, "a number", error);
    *real = json_is_null(value) ? (double)NAN : json_number_value(value);
    return ROTARY_OK;
}
