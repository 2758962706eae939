/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_lines.h"

#include "base/fail.h"
#include "base/integer.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 16, FIRST_LINES = 1 << 10 };

/* ---- line by line ---- */

rotary_status text_reader_open(struct text_reader *reader, const char *path, rotary_error *error)
{
    *reader = (struct text_reader){.input.descriptor = -1};
    rotary_status status =
        path ? input_open(&reader->input, path, error) : input_open_standard(&reader->input, error);
    if (status != ROTARY_OK)
        return status;
    status = text_buffer_reserve(&reader->text, FIRST_BYTES, error);
    if (status != ROTARY_OK)
        text_reader_close(reader);
    return status;
}

bool text_reader_has_line(const struct text_reader *reader)
{
    const struct text_buffer *text = &reader->text;
    return memchr(text->bytes + text->first, '\n', (size_t)(text->count - text->first)) != NULL;
}

bool text_reader_is_ready(const struct text_reader *reader, int milliseconds)
{
    return text_reader_has_line(reader) || input_is_ready(&reader->input, milliseconds);
}

void text_reader_close(struct text_reader *reader)
{
    input_close(&reader->input);
    text_buffer_free(&reader->text);
}

bool text_reader_is_ahead(const struct text_reader *reader)
{
    return reader->text.first < reader->text.count;
}

/* Reads what is there, with room for the zero behind the last line; *got: bytes. */
static rotary_status read_more(struct text_reader *reader, size_t *got, rotary_error *error)
{
    struct text_buffer *text = &reader->text;
    rotary_status status = text_buffer_reserve(text, FIRST_BYTES / 2, error);
    if (status == ROTARY_OK)
        status = input_read_some(&reader->input, text->bytes + text->count,
                                 (size_t)(text->capacity - text->count - 1), got, error);
    if (status == ROTARY_OK)
        text->count += (int64_t)*got;
    return status;
}

/* Reads on until there is a whole line: *length is that of the line with its end, 0 at the end of the file.
 */
static rotary_status find_line(struct text_reader *reader, int64_t *length, rotary_error *error)
{
    for (int64_t searched = 0;;) {
        const int64_t there = reader->text.count - reader->text.first;
        const char *begin = reader->text.bytes + reader->text.first;
        const char *newline = memchr(begin + searched, '\n', (size_t)(there - searched));
        *length = newline ? newline - begin + 1 : there;
        if (newline)
            return ROTARY_OK;
        if (there > TEXT_LINE_BYTES + 5) /* a byte-order mark and "\r\n" included */
            return ROTARY_OK;
        searched = there;
        size_t got;
        rotary_status status = read_more(reader, &got, error);
        if (status != ROTARY_OK || got == 0)
            return status;
    }
}

static rotary_status check_line(const struct text_reader *reader, const struct text_line *line,
                                rotary_error *error)
{
    if (line->count > TEXT_LINE_BYTES)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: it has more than %d bytes, the maximum",
                           reader->input.path, (long long)reader->number, (int)TEXT_LINE_BYTES);
    int64_t valid = utf8_valid_bytes(line->bytes, line->count);
    if (valid < line->count)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s, line %lld: byte 0x%02x at position %lld is not UTF-8 text",
                           reader->input.path, (long long)reader->number,
                           (unsigned)(unsigned char)line->bytes[valid], (long long)valid + 1);
    return ROTARY_OK;
}

rotary_status text_reader_next(struct text_reader *reader, struct text_line *line, rotary_error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    int64_t length;
    rotary_status status = find_line(reader, &length, error);
    *line = (struct text_line){NULL, 0};
    if (status != ROTARY_OK || length == 0)
        return status;
    char *begin = reader->text.bytes + reader->text.first, *end = begin + length;
    reader->text.first += length;
    if (end[-1] == '\n') {
        end--;
        end -= !reader->raw && end > begin && end[-1] == '\r';
    }
    if (reader->number++ == 0 && !reader->raw && end - begin >= 3 && memcmp(begin, mark, 3) == 0)
        begin += 3;
    *end = '\0'; /* in place of its end, or in the byte that read_more() keeps free */
    *line = (struct text_line){begin, end - begin};
    return check_line(reader, line, error);
}

/* ---- whole files ---- */

/* Room for a begin more. False without memory. */
static bool grow_starts(struct text_lines *lines, int64_t *capacity)
{
    if (lines->count < *capacity)
        return true;
    const int64_t larger = max_i64(2 * *capacity, FIRST_LINES);
    int64_t *starts = realloc(lines->starts, (size_t)larger * sizeof *starts);
    if (!starts)
        return false;
    lines->starts = starts;
    *capacity = larger;
    return true;
}

static rotary_status read_all(struct text_lines *lines, struct text_reader *reader, int64_t max_bytes,
                              rotary_error *error)
{
    int64_t capacity = 0;
    for (;;) {
        struct text_line line;
        rotary_status status = text_reader_next(reader, &line, error);
        if (status != ROTARY_OK)
            return status;
        if (!grow_starts(lines, &capacity))
            return rotary_fail_memory(error, "to read %s", lines->path);
        lines->starts[lines->count] = lines->text.count;
        if (!line.bytes)
            return ROTARY_OK;
        if (lines->text.count + line.count + 1 > max_bytes)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s has more than %lld bytes of lines, the maximum",
                               lines->path, (long long)max_bytes);
        status = text_buffer_append(&lines->text, line.bytes, line.count + 1, error);
        if (status != ROTARY_OK)
            return status;
        lines->count++;
    }
}

rotary_status text_lines_read(struct text_lines *lines, const char *path, int64_t max_bytes,
                              rotary_error *error)
{
    struct text_reader reader;
    *lines = (struct text_lines){.path = path};
    rotary_status status = text_reader_open(&reader, path, error);
    if (status != ROTARY_OK)
        return status;
    lines->path = reader.input.path;
    status = read_all(lines, &reader, max_bytes, error);
    text_reader_close(&reader);
    if (status != ROTARY_OK)
        text_lines_free(lines);
    return status;
}

struct text_line text_lines_at(const struct text_lines *lines, int64_t line)
{
    return (struct text_line){lines->text.bytes + lines->starts[line],
                              lines->starts[line + 1] - lines->starts[line] - 1};
}

rotary_status text_lines_check_aligned(const struct text_lines *first, const struct text_lines *second,
                                       rotary_error *error)
{
    if (first->count == second->count)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld lines and %s %lld, wanted as many in both",
                       first->path, (long long)first->count, second->path, (long long)second->count);
}

void text_lines_free(struct text_lines *lines)
{
    text_buffer_free(&lines->text);
    free(lines->starts);
    *lines = (struct text_lines){0};
}
