/* SPDX-License-Identifier: Apache-2.0 */
#include "text/stop_strings.h"

#include "base/fail.h"

#include <string.h>

void stop_strings_start(struct stop_strings *stop, const char *const *strings, int count)
{
    *stop = (struct stop_strings){.strings = strings, .count = count, .found = -1};
}

void stop_strings_free(struct stop_strings *stop)
{
    text_buffer_free(&stop->text);
    *stop = (struct stop_strings){0};
}

/* The bytes of the longest string that ends where the text of `bytes` bytes does, and its index; 0: none. */
static int64_t find_end(const struct stop_strings *stop, const char *text, int64_t bytes, int *index)
{
    int64_t longest = 0;
    for (int i = 0; i < stop->count; i++) {
        int64_t length = (int64_t)strlen(stop->strings[i]);
        if (length <= longest || length > bytes ||
            memcmp(text + bytes - length, stop->strings[i], (size_t)length) != 0)
            continue;
        longest = length;
        *index = i;
    }
    return longest;
}

/* The bytes at the end of the text that a string may begin with: of it at most all but one. */
static int64_t count_held(const struct stop_strings *stop, const char *text, int64_t bytes)
{
    int64_t held = 0;
    for (int i = 0; i < stop->count; i++) {
        int64_t length = (int64_t)strlen(stop->strings[i]) - 1;
        for (length = length < bytes ? length : bytes; length > held; length--)
            if (memcmp(text + bytes - length, stop->strings[i], (size_t)length) == 0)
                held = length;
    }
    return held;
}

rotary_status stop_strings_read(struct stop_strings *stop, const char *text, int64_t bytes,
                                const char **shown, int64_t *shown_bytes, rotary_error *error)
{
    struct text_buffer *held = &stop->text;
    const int64_t read = held->count - held->first;
    rotary_status status = stop->found >= 0 ? ROTARY_OK : text_buffer_append(held, text, bytes, error);
    *shown = held->bytes + held->first;
    *shown_bytes = 0;
    if (status != ROTARY_OK || stop->found >= 0)
        return status;
    /* No string ends in what was held back: that was read before. */
    const int64_t count = held->count - held->first;
    for (int64_t end = read + 1; end <= count; end++) {
        int64_t length = find_end(stop, *shown, end, &stop->found);
        if (length == 0)
            continue;
        *shown_bytes = end - length;
        held->first = held->count;
        return ROTARY_OK;
    }
    *shown_bytes = count - count_held(stop, *shown, count);
    held->first += *shown_bytes;
    return ROTARY_OK;
}

void stop_strings_end(struct stop_strings *stop, const char **shown, int64_t *shown_bytes)
{
    struct text_buffer *held = &stop->text;
    *shown = held->bytes + held->first;
    *shown_bytes = held->count - held->first;
    held->first = held->count;
}
