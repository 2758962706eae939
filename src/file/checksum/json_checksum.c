/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/json_checksum.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"

#include <stdlib.h>
#include <string.h>

static void compute(const json_t *object, char digits[CHECKSUM_TEXT_BYTES])
{
    struct checksum checksum;
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    checksum_start(&checksum);
    checksum_add(&checksum, text, strlen(text));
    checksum_finish_text(&checksum, digits);
    free(text);
}

void json_checksum_set(json_t *object)
{
    char digits[CHECKSUM_TEXT_BYTES];
    compute(object, digits);
    json_object_set_new(object, JSON_CHECKSUM, json_string(digits));
}

rotary_status json_checksum_take(json_t *object, const char *path, rotary_error *error)
{
    char digits[CHECKSUM_TEXT_BYTES];
    json_t *recorded = json_incref(json_object_get(object, JSON_CHECKSUM));
    if (!recorded)
        return ROTARY_OK;
    json_object_del(object, JSON_CHECKSUM);
    compute(object, digits);
    rotary_status status = ROTARY_OK;
    const char *written = json_string_value(recorded);
    if (!written || strcmp(written, digits) != 0)
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s does not match its \"" JSON_CHECKSUM
                             "\": it was changed since it was written; wanted "
                             "it as it was, or without its \"" JSON_CHECKSUM "\" if the change is meant",
                             path);
    json_decref(recorded);
    return status;
}
