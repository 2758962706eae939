/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/document_reader.h"

#include <stddef.h>
#include <string.h>

const char *const document_boundary_names[] = {"blank_line", "line", "file", NULL};

static bool is_space(char letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static bool is_blank(const char *text, int64_t count)
{
    int64_t at = 0;
    while (at < count && is_space(text[at]))
        at++;
    return at == count;
}

/* ---- documents ---- */

/* A line of a section, or a record; `end` is before its end, and the next one begins at `next`. A record is
 * blank if it has nothing at all: spaces are its text. */
struct line {
    int64_t begin, end, next;
    bool blank, complete; /* complete: its line end is in the section */
};

static struct line line_at(const struct text_section *section, int64_t at)
{
    const bool record = section->boundary == DOCUMENT_RECORD;
    const char *begin = section->bytes + at;
    const char *newline = memchr(begin, record ? '\0' : '\n', (size_t)(section->count - at));
    const int64_t end = newline ? newline - section->bytes : section->count,
                  carriage = newline && !record && end > at && newline[-1] == '\r';
    const bool blank = record ? end == at : is_blank(begin, end - at);
    return (struct line){at, end - carriage, newline ? end + 1 : end, blank, newline != NULL};
}

static bool whole_section(struct document_reader *reader, struct document_part *part)
{
    const struct text_section *section = reader->section;
    if (reader->at != 0)
        return false;
    reader->at = section->count + 1; /* an empty file too is one document */
    *part = (struct document_part){section->bytes, section->count, section->continues, true};
    return true;
}

bool document_reader_next(struct document_reader *reader, struct document_part *part)
{
    const struct text_section *section = reader->section;
    if (section->boundary == DOCUMENT_FILE)
        return whole_section(reader, part);
    /* What a section continues with is the rest of a line, which is not blank whatever the rest is. */
    const bool continues = reader->at == 0 && section->continues;
    bool rest = continues, ended = false;
    int64_t begin = continues ? 0 : -1, end = 0;
    while (!ended && reader->at < section->count) {
        const struct line line = line_at(section, reader->at);
        reader->at = line.next;
        if (line.blank && !rest) {
            ended = begin >= 0;
            continue;
        }
        begin = begin < 0 ? line.begin : begin;
        end = line.end;
        rest = false;
        ended = section->boundary != DOCUMENT_BLANK_LINE && line.complete;
    }
    if (begin < 0)
        return false;
    *part = (struct document_part){section->bytes + begin, end - begin, continues, !ended};
    return true;
}

/* ---- sections ---- */

static const char *find_newline(const char *from, const char *to)
{
    return memchr(from, '\n', (size_t)(to - from));
}

/* What is behind the first blank line that ends in from ... to, of a text that begins at `begin`; NULL: there
 * is none. */
static const char *behind_blank_line(const char *begin, const char *from, const char *to)
{
    const char *at = from;
    while (at > begin && at[-1] != '\n' && is_space(at[-1]))
        at--;
    at = at > begin && at[-1] == '\n' ? at - 1 : find_newline(from, to);
    while (at) {
        do
            at++;
        while (at < to && *at != '\n' && is_space(*at));
        if (at < to && *at == '\n')
            return at + 1;
        at = find_newline(at, to);
    }
    return NULL;
}

/* The first space behind a letter, so that what is before it is no blank line; or else what follows the first
 * letter; or else `from`. */
static const char *inside_line(const char *from, const char *to)
{
    const char *letter = NULL;
    for (const char *at = from; at < to; at++) {
        if (is_space(at[-1]))
            continue;
        if (*at == ' ')
            return at;
        if (!letter && ((unsigned char)*at & 0xc0) != 0x80)
            letter = at;
    }
    return letter ? letter : from;
}

int64_t document_section_end(const char *text, int64_t count, int64_t begin, int64_t size,
                             enum document_boundary boundary, bool *continues)
{
    *continues = false;
    if (count - begin < 2 * size)
        return count;
    const char *from = text + begin + size + 1, *to = from + size - 1;
    const char *newline = find_newline(from, to), *document = NULL;
    if (boundary == DOCUMENT_LINE && newline)
        return newline + 1 - text;
    if (boundary == DOCUMENT_BLANK_LINE)
        document = behind_blank_line(text + begin, from, to);
    if (boundary == DOCUMENT_RECORD && (document = memchr(from, '\0', (size_t)(to - from))))
        document++;
    if (document)
        return document - text;
    *continues = true;
    if (!newline)
        return inside_line(from + 1, to) - text; /* not just behind a line end */
    /* Before the line end, so that it is not lost where the document goes on, nor added where it does not. */
    return newline - text - (newline[-1] == '\r');
}
