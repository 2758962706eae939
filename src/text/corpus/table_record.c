/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/table_record.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_FIELDS = 1 << 5 };

rotary_status record_reader_open(struct record_reader *reader, const char *path, char separator, bool quoted,
                                 rotary_error *error)
{
    *reader = (struct record_reader){.separator = separator, .quoted = quoted};
    return text_reader_open(&reader->lines, path, error);
}

void record_reader_close(struct record_reader *reader)
{
    text_reader_close(&reader->lines);
    text_buffer_free(&reader->text);
    free(reader->ends);
    reader->ends = NULL;
}

struct text_line record_field(const struct record_reader *reader, int64_t field)
{
    const int64_t begin = field > 0 ? reader->ends[field - 1] + 1 : 0;
    return (struct text_line){reader->text.bytes + begin, reader->ends[field] - begin};
}

/* Room for a line's text, an end of each of its fields and a line end more. */
static rotary_status reserve(struct record_reader *reader, int64_t line_bytes, rotary_error *error)
{
    const int64_t fields = reader->count + line_bytes + 1;
    if (fields > reader->end_capacity) {
        const int64_t capacity = max_i64(max_i64(2 * reader->end_capacity, FIRST_FIELDS), fields);
        int64_t *larger = realloc(reader->ends, (size_t)capacity * sizeof *larger);
        if (!larger)
            return rotary_fail_memory(error, "to read %s", reader->lines.input.path);
        reader->ends = larger;
        reader->end_capacity = capacity;
    }
    return text_buffer_reserve(&reader->text, 2 * line_bytes + 2, error);
}

/* Adds a byte that reserve() made room for. */
static void put(struct record_reader *reader, char byte)
{
    reader->text.bytes[reader->text.count++] = byte;
}

static void end_field(struct record_reader *reader)
{
    reader->ends[reader->count++] = reader->text.count;
    put(reader, '\0');
}

/* Takes the rest of a quoted field from `at` on; returns what follows its closing quote, or NULL where the
 * line ends before it. */
static const char *take_quoted(struct record_reader *reader, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '"' && (at + 1 == end || at[1] != '"'))
            return at + 1;
        at += *at == '"';
        put(reader, *at);
    }
    return NULL;
}

/* Takes a line's fields. *open: it begins, or ends, within a quoted field. */
static rotary_status take_line(struct record_reader *reader, const struct text_line *line, bool *open,
                               rotary_error *error)
{
    const char *at = line->bytes, *const end = line->bytes + line->count;
    for (;;) {
        bool quoted = *open;
        if (!quoted && reader->quoted && at < end && *at == '"') {
            quoted = true;
            at++;
        }
        if (quoted) {
            at = take_quoted(reader, at, end);
            *open = at == NULL;
            if (*open)
                return ROTARY_OK;
            if (at < end && *at != reader->separator)
                return rotary_fail(error, ROTARY_BAD_FILE,
                                   "%s, line %lld, column %lld: text follows the "
                                   "closing quote, wanted %s or "
                                   "the end of the line",
                                   reader->lines.input.path, (long long)reader->lines.number,
                                   (long long)reader->count + 1,
                                   reader->separator == ',' ? "a comma" : "a tab");
        }
        for (; at < end && *at != reader->separator; at++)
            put(reader, *at);
        end_field(reader);
        if (at++ == end)
            return ROTARY_OK;
    }
}

/* Whether the quoted field may go on with this line: there is one, and the record is no longer than a line
 * may be. */
static rotary_status check_open(const struct record_reader *reader, const struct text_line *line,
                                rotary_error *error)
{
    if (line->bytes && reader->text.count <= TEXT_LINE_BYTES)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s, line %lld, column %lld: the quote is not closed, wanted a \" %s",
                       reader->lines.input.path, (long long)reader->line, (long long)reader->count + 1,
                       line->bytes ? "within a million bytes" : "before the end of the file");
}

rotary_status record_next(struct record_reader *reader, bool *more, rotary_error *error)
{
    struct text_line line;
    reader->text.count = reader->count = 0;
    do {
        rotary_status status = text_reader_next(&reader->lines, &line, error);
        if (status != ROTARY_OK)
            return status;
    } while (line.bytes && line.count == 0);
    *more = line.bytes != NULL;
    reader->line = reader->lines.number;
    for (bool open = false; *more;) {
        rotary_status status = reserve(reader, line.count, error);
        if (status == ROTARY_OK)
            status = take_line(reader, &line, &open, error);
        if (status != ROTARY_OK || !open)
            return status;
        put(reader, '\n');
        status = text_reader_next(&reader->lines, &line, error);
        if (status == ROTARY_OK)
            status = check_open(reader, &line, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}
