/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/json_checksum.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"

#include <stdlib.h>
#include <string.h>

static rotary_status compute(const json_t *object, char digits[CHECKSUM_TEXT_BYTES], rotary_error *error)
{
    struct checksum checksum;
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the checksum of an object");
    checksum_start(&checksum);
    checksum_add(&checksum, text, strlen(text));
    checksum_finish_text(&checksum, digits);
    free(text);
    return ROTARY_OK;
}

rotary_status json_checksum_set(json_t *object, rotary_error *error)
{
    char digits[CHECKSUM_TEXT_BYTES];
    rotary_status status = compute(object, digits, error);
    if (status == ROTARY_OK && json_object_set_new(object, JSON_CHECKSUM, json_string(digits)) != 0)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the checksum of an object");
    return status;
}

rotary_status json_checksum_take(json_t *object, const char *path, rotary_error *error)
{
    char digits[CHECKSUM_TEXT_BYTES];
    json_t *recorded = json_incref(json_object_get(object, JSON_CHECKSUM));
    if (!recorded)
        return ROTARY_OK;
    json_object_del(object, JSON_CHECKSUM);
    rotary_status status = compute(object, digits, error);
    const char *written = json_string_value(recorded);
    if (status == ROTARY_OK && (!written || strcmp(written, digits) != 0))
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s does not match its \"" JSON_CHECKSUM
                             "\": it was changed since it was written; wanted "
                             "it as it was, or without its \"" JSON_CHECKSUM "\" if the change is meant",
                             path);
    json_decref(recorded);
    return status;
}
