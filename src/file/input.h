/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading from outside: files and pipes of any size, in pieces. Whoever reads checks what a piece says before
 * asking for the next, so that a file of terabytes, or one that never ends, costs no memory.
 */
#ifndef ROTARY_FILE_INPUT_H
#define ROTARY_FILE_INPUT_H

#include <rotary/status.h>

struct input {
    const char *path; /* borrowed */
    int descriptor;   /* below 0: closed */
    bool pipe, begun; /* begun: of a pipe, it has had a writer */
    uint64_t size;    /* of a file, in bytes, or 0 if it does not say (in /proc); of a pipe 0 */
};

/* Opens a file or a pipe; anything else (a folder, a device) is ROTARY_IO_ERROR. Never waits. */
ROTARY_CHECKED rotary_status input_open(struct input *input, const char *path, rotary_error *error);
/* The standard input: a file, a pipe, a terminal or a socket. */
ROTARY_CHECKED rotary_status input_open_standard(struct input *input, rotary_error *error);
/* Reads 1 to `count` bytes, as soon as there are some; *got is 0 only at the end. Waits as input_read does.
 */
ROTARY_CHECKED rotary_status input_read_some(struct input *input, void *bytes, size_t count, size_t *got,
                                             rotary_error *error);
/* Reads `count` bytes, or fewer at the end; *got is their number. Waits for what is written to a pipe, but
 * not long for somebody to write to it: that is ROTARY_IO_ERROR. */
ROTARY_CHECKED rotary_status input_read(struct input *input, void *bytes, size_t count, size_t *got,
                                        rotary_error *error);
/* Whether there is something to read, or the end, within `milliseconds`. A signal ends the wait. */
bool input_is_ready(const struct input *input, int milliseconds);
void input_close(struct input *input);

/* The lines of a file, which must be a regular one. */
enum { LINES_MAX_BYTES = 1 << 20 }; /* of a line, with its newline */
struct lines {
    struct input input;
    char *block;
    size_t begin, end; /* of what is read and not yet taken, in the block */
    int64_t number;    /* of the line taken last, from 1 */
    uint64_t taken;    /* bytes of all lines up to it */
};
/* ROTARY_BAD_FILE for more than `max` bytes. */
ROTARY_CHECKED rotary_status lines_open(struct lines *lines, const char *path, uint64_t max,
                                        rotary_error *error);
/* *text: the next line, with its newline, valid until the next call; NULL at the end of the file. A rest
 * without a newline is none. A longer line is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status lines_next(struct lines *lines, const char **text, size_t *count,
                                        rotary_error *error);
void lines_close(struct lines *lines);

#endif
