/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_buffer.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 64 };

void text_buffer_free(struct text_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct text_buffer){0};
}

rotary_status text_buffer_reserve(struct text_buffer *buffer, int64_t bytes, rotary_error *error)
{
    if (bytes <= buffer->capacity - buffer->count)
        return ROTARY_OK;
    buffer->count -= buffer->first;
    if (buffer->first > 0)
        memmove(buffer->bytes, buffer->bytes + buffer->first, (size_t)buffer->count);
    buffer->first = 0;
    if (bytes <= buffer->capacity - buffer->count)
        return ROTARY_OK;
    const int64_t capacity = max_i64(max_i64(2 * buffer->capacity, MIN_CAPACITY), buffer->count + bytes);
    char *larger = realloc(buffer->bytes, (size_t)capacity);
    if (!larger)
        return rotary_fail_memory(error, "for a text of %lld bytes", (long long)capacity);
    buffer->bytes = larger;
    buffer->capacity = capacity;
    return ROTARY_OK;
}

rotary_status text_buffer_append(struct text_buffer *buffer, const char *bytes, int64_t count,
                                 rotary_error *error)
{
    rotary_status status = text_buffer_reserve(buffer, count, error);
    if (status == ROTARY_OK && count > 0) {
        memcpy(buffer->bytes + buffer->count, bytes, (size_t)count);
        buffer->count += count;
    }
    return status;
}

void text_buffer_swap(struct text_buffer *a, struct text_buffer *b)
{
    struct text_buffer kept = *a;
    *a = *b;
    *b = kept;
}
