/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream that prints to memory and reports when memory runs out; a stream of open_memstream silently drops
 * what it has no memory for.
 */
#ifndef ROTARY_FILE_PRINT_H
#define ROTARY_FILE_PRINT_H

#include <rotary/status.h>
#include <stdio.h>

struct print {
    FILE *stream; /* to print to */
    char *text;   /* after print_end: the text, followed by a zero byte, which the caller frees */
    size_t count;
    size_t capacity;
};

/* Must be followed by print_end or print_replace; until then `print` must not move. */
ROTARY_CHECKED rotary_status print_begin(struct print *print, rotary_error *error);
/* Ends the text. ROTARY_OUT_OF_MEMORY, with nothing to free, if memory ran out at any time. */
ROTARY_CHECKED rotary_status print_end(struct print *print, rotary_error *error);
/* Ends the text, replaces the file `path` by it, and frees it. */
ROTARY_CHECKED rotary_status print_replace(struct print *print, const char *path, rotary_error *error);

#endif
