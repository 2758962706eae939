/* SPDX-License-Identifier: Apache-2.0 */
#include "text/stop_strings.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

void stop_strings_start(struct stop_strings *stop, const char *const *strings, int count)
{
    *stop = (struct stop_strings){.strings = strings, .count = count, .found = -1};
}

void stop_strings_free(struct stop_strings *stop)
{
    free(stop->text);
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

/* Drops what was shown, and appends to what is held back. */
static rotary_status append(struct stop_strings *stop, const char *text, int64_t bytes, rotary_error *error)
{
    int64_t held = stop->end - stop->begin, wanted = held + bytes;
    if (held > 0)
        memmove(stop->text, stop->text + stop->begin, (size_t)held);
    stop->begin = 0;
    stop->end = held;
    if (wanted > stop->capacity) {
        char *larger = realloc(stop->text, (size_t)wanted);
        if (!larger)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a text with stop strings");
        stop->text = larger;
        stop->capacity = wanted;
    }
    if (bytes > 0)
        memcpy(stop->text + held, text, (size_t)bytes);
    stop->end = wanted;
    return ROTARY_OK;
}

rotary_status stop_strings_read(struct stop_strings *stop, const char *text, int64_t bytes,
                                const char **shown, int64_t *shown_bytes, rotary_error *error)
{
    *shown_bytes = 0;
    int64_t held = stop->end - stop->begin;
    rotary_status status = stop->found >= 0 ? ROTARY_OK : append(stop, text, bytes, error);
    *shown = stop->text;
    if (status != ROTARY_OK || stop->found >= 0)
        return status;
    /* No string ends in what was held back: that was read before. */
    for (int64_t end = held + 1; end <= stop->end; end++) {
        int64_t length = find_end(stop, stop->text, end, &stop->found);
        if (length == 0)
            continue;
        *shown_bytes = end - length;
        stop->begin = stop->end;
        return ROTARY_OK;
    }
    stop->begin = stop->end - count_held(stop, stop->text, stop->end);
    *shown_bytes = stop->begin;
    return ROTARY_OK;
}

void stop_strings_end(struct stop_strings *stop, const char **shown, int64_t *shown_bytes)
{
    *shown = stop->text ? stop->text + stop->begin : NULL;
    *shown_bytes = stop->end - stop->begin;
    stop->begin = stop->end;
}
