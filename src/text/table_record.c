/* SPDX-License-Identifier: Apache-2.0 */
#include "text/table_record.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 12, FIRST_FIELDS = 1 << 5 };

static rotary_status fail_memory(const struct record_reader *reader, rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %s", reader->lines.input.path);
}

rotary_status record_reader_open(struct record_reader *reader, const char *path, char separator, bool quoted,
                                 rotary_error *error)
{
    *reader = (struct record_reader){.separator = separator, .quoted = quoted};
    return text_reader_open(&reader->lines, path, error);
}

void record_reader_close(struct record_reader *reader)
{
    text_reader_close(&reader->lines);
    free(reader->bytes);
    free(reader->ends);
    reader->bytes = NULL;
    reader->ends = NULL;
}

struct text_line record_field(const struct record_reader *reader, int64_t field)
{
    const int64_t begin = field > 0 ? reader->ends[field - 1] + 1 : 0;
    return (struct text_line){reader->bytes + begin, reader->ends[field] - begin};
}

/* Room for a line's text, an end of each of its fields and a line end more. */
static rotary_status reserve(struct record_reader *reader, int64_t line_bytes, rotary_error *error)
{
    const int64_t bytes = reader->used + 2 * line_bytes + 2, fields = reader->count + line_bytes + 1;
    if (bytes > reader->capacity) {
        const int64_t capacity = max_i64(max_i64(2 * reader->capacity, FIRST_BYTES), bytes);
        char *larger = realloc(reader->bytes, (size_t)capacity);
        if (!larger)
            return fail_memory(reader, error);
        reader->bytes = larger;
        reader->capacity = capacity;
    }
    if (fields > reader->end_capacity) {
        const int64_t capacity = max_i64(max_i64(2 * reader->end_capacity, FIRST_FIELDS), fields);
        int64_t *larger = realloc(reader->ends, (size_t)capacity * sizeof *larger);
        if (!larger)
            return fail_memory(reader, error);
        reader->ends = larger;
        reader->end_capacity = capacity;
    }
    return ROTARY_OK;
}

static void end_field(struct record_reader *reader)
{
    reader->bytes[reader->used] = '\0';
    reader->ends[reader->count++] = reader->used++;
}

/* Takes the rest of a quoted field from `at` on; returns what follows its closing quote, or NULL where the
 * line ends before it. */
static const char *take_quoted(struct record_reader *reader, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '"' && (at + 1 == end || at[1] != '"'))
            return at + 1;
        at += *at == '"';
        reader->bytes[reader->used++] = *at;
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
            reader->bytes[reader->used++] = *at;
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
    if (line->bytes && reader->used <= TEXT_LINE_BYTES)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s, line %lld, column %lld: the quote is not closed, wanted a \" %s",
                       reader->lines.input.path, (long long)reader->line, (long long)reader->count + 1,
                       line->bytes ? "within a million bytes" : "before the end of the file");
}

rotary_status record_next(struct record_reader *reader, bool *more, rotary_error *error)
{
    struct text_line line;
    reader->used = reader->count = 0;
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
        reader->bytes[reader->used++] = '\n'; /* reserve() made room for it */
        status = text_reader_next(&reader->lines, &line, error);
        if (status == ROTARY_OK)
            status = check_open(reader, &line, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}
