/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that is printed piece by piece and kept in memory, whole or not at all: a stream of open_memstream
 * passes over the pieces it finds no memory for and says nothing.
 */
#ifndef ROTARY_FILE_PRINT_H
#define ROTARY_FILE_PRINT_H

#include <rotary/status.h>
#include <stdio.h>

struct print {
    FILE *stream; /* to print to */
    char *text;   /* what print_end leaves: the caller's to free, with a zero byte behind its end */
    size_t count;
    size_t capacity;
};

/* `print` stays where it is until print_end or print_replace, one of which has to follow. */
ROTARY_CHECKED rotary_status print_begin(struct print *print, rotary_error *error);
/* Ends the text. ROTARY_OUT_OF_MEMORY, and nothing to free, if any piece of it could not be kept. */
ROTARY_CHECKED rotary_status print_end(struct print *print, rotary_error *error);
/* Ends the text and replaces a file by it; leaves nothing to free. */
ROTARY_CHECKED rotary_status print_replace(struct print *print, const char *path, rotary_error *error);

#endif
