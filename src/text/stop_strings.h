/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings at which a text that comes in pieces ends, wherever the pieces begin: what could be the start of
 * one is held back until it is known not to be.
 */
#ifndef ROTARY_TEXT_STOP_STRINGS_H
#define ROTARY_TEXT_STOP_STRINGS_H

#include "text/text_buffer.h"

#include <stdbool.h>

struct stop_strings {
    const char *const *strings; /* [count], borrowed; none is empty */
    int count;
    int found;               /* the string that ended the text; -1: none */
    struct text_buffer text; /* what is held back, behind what was shown last */
};

/* A text of which nothing was read. */
void stop_strings_start(struct stop_strings *stop, const char *const *strings, int count);
/* Reads `bytes` more bytes. *shown are the next *shown_bytes of the text, which no stop string begins in,
 * valid until the next call. The text ends, and stop->found is set, with the first byte by which one is
 * complete: of several that end there, the longest counts. It is not shown, nor is what follows.
 * ROTARY_OUT_OF_MEMORY. */
ROTARY_CHECKED rotary_status stop_strings_read(struct stop_strings *stop, const char *text, int64_t bytes,
                                               const char **shown, int64_t *shown_bytes, rotary_error *error);
/* The text ended otherwise: *shown is what was held back. */
void stop_strings_end(struct stop_strings *stop, const char **shown, int64_t *shown_bytes);
void stop_strings_free(struct stop_strings *stop); /* a zeroed one too */

#endif
