/* SPDX-License-Identifier: Apache-2.0 */
#include "file/input.h"

#include "base/fail.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITER_MILLISECONDS = 1000 }; /* of patience with a pipe that nobody writes to */
enum { SHOWN_BYTES = 350 };

static rotary_status fail_system(const struct input *input, const char *doing, rotary_error *error)
{
    /* Only a part of the longest paths is shown, so that the reason is not cut off. */
    const char *more = strlen(input->path) > SHOWN_BYTES ? "..." : "";
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot %s %.*s%s: %s", doing, (int)SHOWN_BYTES, input->path,
                       more, strerror(errno));
}

/* "; did you mean llama/config.json?", where a folder has one. */
static const char *hint_of_config(const char *folder, char text[FILE_PATH_BYTES])
{
    static const char before[] = "; did you mean ";
    int length = snprintf(text, FILE_PATH_BYTES, "%s%s/config.json", before, folder);
    if (length >= FILE_PATH_BYTES - 1 || access(text + strlen(before), R_OK) != 0)
        return "";
    strcpy(text + length, "?");
    return text;
}

static rotary_status look(struct input *input, rotary_error *error)
{
    struct stat about;
    char hint[FILE_PATH_BYTES];
    if (fstat(input->descriptor, &about) != 0)
        return fail_system(input, "look at", error);
    input->pipe = S_ISFIFO(about.st_mode);
    if (!input->pipe && !S_ISREG(about.st_mode))
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a %s, wanted a file%s", input->path,
                           S_ISDIR(about.st_mode) ? "folder" : "device", hint_of_config(input->path, hint));
    input->size = S_ISREG(about.st_mode) && about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return ROTARY_OK;
}

rotary_status input_open(struct input *input, const char *path, rotary_error *error)
{
    /* Without O_NONBLOCK, open() of a pipe would wait for its writer. */
    *input =
        (struct input){.path = path, .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (input->descriptor < 0)
        return fail_system(input, "open", error);
    rotary_status status = look(input, error);
    if (status != ROTARY_OK)
        input_close(input);
    return status;
}

/* Waits until a pipe has bytes, or has lost its last writer. */
static rotary_status wait_for_writer(struct input *input, bool has_writer, rotary_error *error)
{
    struct pollfd pipe = {.fd = input->descriptor, .events = POLLIN};
    int ready = poll(&pipe, 1, has_writer ? -1 : WRITER_MILLISECONDS);
    if (ready < 0 && errno != EINTR)
        return fail_system(input, "wait for", error);
    if (ready == 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a pipe that nobody writes to", input->path);
    input->begun = input->begun || ready > 0;
    return ROTARY_OK;
}

rotary_status input_open_standard(struct input *input, rotary_error *error)
{
    /* A copy, so that closing it leaves the standard input open. */
    *input = (struct input){
        .path = "standard input", .descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), .begun = true};
    return input->descriptor < 0 ? fail_system(input, "open", error) : ROTARY_OK;
}

rotary_status input_read_some(struct input *input, void *bytes, size_t count, size_t *got,
                              rotary_error *error)
{
    *got = 0;
    for (;;) {
        ssize_t read_now = read(input->descriptor, bytes, count);
        bool waits = read_now < 0 && errno == EAGAIN; /* a writer that has written nothing yet */
        if (read_now > 0) {
            *got = (size_t)read_now;
            input->begun = true;
            return ROTARY_OK;
        }
        if (waits || (read_now == 0 && input->pipe && !input->begun)) {
            rotary_status status = wait_for_writer(input, waits, error);
            if (status != ROTARY_OK)
                return status;
        } else if (read_now == 0) {
            return ROTARY_OK;
        } else if (errno != EINTR) {
            return fail_system(input, "read", error);
        }
    }
}

rotary_status input_read(struct input *input, void *bytes, size_t count, size_t *got, rotary_error *error)
{
    *got = 0;
    while (*got < count) {
        size_t some;
        rotary_status status = input_read_some(input, (char *)bytes + *got, count - *got, &some, error);
        if (status != ROTARY_OK || some == 0)
            return status;
        *got += some;
    }
    return ROTARY_OK;
}

bool input_is_ready(const struct input *input, int milliseconds)
{
    struct pollfd wanted = {.fd = input->descriptor, .events = POLLIN};
    return poll(&wanted, 1, milliseconds) > 0;
}

void input_close(struct input *input)
{
    if (input->descriptor >= 0)
        close(input->descriptor);
    input->descriptor = -1;
}

rotary_status lines_open(struct lines *lines, const char *path, uint64_t max, rotary_error *error)
{
    *lines = (struct lines){.input.descriptor = -1};
    rotary_status status = input_open(&lines->input, path, error);
    if (status == ROTARY_OK && lines->input.pipe)
        status = rotary_fail(error, ROTARY_IO_ERROR, "%s is a pipe, wanted a file", path);
    if (status == ROTARY_OK && lines->input.size > max)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s has %llu bytes, wanted at most %llu", path,
                             (unsigned long long)lines->input.size, (unsigned long long)max);
    if (status == ROTARY_OK && !(lines->block = malloc(LINES_MAX_BYTES)))
        status = rotary_fail_memory(error, "to read %s", path);
    if (status != ROTARY_OK)
        lines_close(lines);
    return status;
}

rotary_status lines_next(struct lines *lines, const char **text, size_t *count, rotary_error *error)
{
    char *begin = lines->block + lines->begin, *newline = memchr(begin, '\n', lines->end - lines->begin);
    if (!newline) {
        size_t kept = lines->end - lines->begin, got;
        memmove(lines->block, begin, kept);
        rotary_status status =
            input_read(&lines->input, lines->block + kept, LINES_MAX_BYTES - kept, &got, error);
        if (status != ROTARY_OK)
            return status;
        begin = lines->block;
        newline = memchr(begin + kept, '\n', got);
        lines->begin = 0;
        lines->end = kept + got;
    }
    *text = newline ? begin : NULL;
    *count = newline ? (size_t)(newline - begin) + 1 : 0;
    if (!newline && lines->end == LINES_MAX_BYTES)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: it has more than %d bytes",
                           lines->input.path, (long long)lines->number + 1, (int)LINES_MAX_BYTES);
    lines->begin += *count;
    lines->taken += *count;
    lines->number += newline != NULL;
    return ROTARY_OK;
}

void lines_close(struct lines *lines)
{
    input_close(&lines->input);
    free(lines->block);
    lines->block = NULL;
}
