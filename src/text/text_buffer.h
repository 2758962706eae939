/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in memory, which grows at its end and may be used up at its begin.
 */
#ifndef ROTARY_TEXT_TEXT_BUFFER_H
#define ROTARY_TEXT_TEXT_BUFFER_H

#include <rotary/status.h>

/* A zeroed one is empty. Its owner frees it, and raises `first` by what it has used of the text. */
struct text_buffer {
    char *bytes;
    int64_t first, count, capacity; /* the text is bytes first ... count - 1 */
};

void text_buffer_free(struct text_buffer *buffer);
/* Makes room for `bytes` more, for which the text may move to the front: `first` is 0 then.
 * ROTARY_OUT_OF_MEMORY leaves the text as it is. */
ROTARY_CHECKED rotary_status text_buffer_reserve(struct text_buffer *buffer, int64_t bytes,
                                                 rotary_error *error);
/* Appends `count` bytes, which are not the buffer's own. */
ROTARY_CHECKED rotary_status text_buffer_append(struct text_buffer *buffer, const char *bytes, int64_t count,
                                                rotary_error *error);
void text_buffer_swap(struct text_buffer *a, struct text_buffer *b);

#endif
