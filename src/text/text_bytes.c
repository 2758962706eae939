/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_bytes.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

void text_bytes_free(struct text_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct text_bytes){.bytes = NULL};
}

rotary_status text_bytes_reserve(struct text_bytes *text, int64_t wanted, const char *path,
                                 rotary_error *error)
{
    if (text->capacity - text->count >= wanted)
        return ROTARY_OK;
    text->count -= text->first;
    if (text->first > 0)
        memmove(text->bytes, text->bytes + text->first, (size_t)text->count);
    text->first = 0;
    if (text->capacity - text->count >= wanted)
        return ROTARY_OK;
    const int64_t capacity = max_i64(2 * text->capacity, text->count + wanted);
    char *larger = realloc(text->bytes, (size_t)capacity);
    if (!larger)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %s", path);
    text->bytes = larger;
    text->capacity = capacity;
    return ROTARY_OK;
}

rotary_status text_bytes_append(struct text_bytes *text, const char *bytes, int64_t count, const char *path,
                                rotary_error *error)
{
    rotary_status status = text_bytes_reserve(text, count, path, error);
    if (status != ROTARY_OK || count == 0)
        return status;
    memcpy(text->bytes + text->count, bytes, (size_t)count);
    text->count += count;
    return ROTARY_OK;
}
