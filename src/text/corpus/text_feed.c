/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/text_feed.h"

#include "base/fail.h"
#include "file/json_numbers.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { READ_BYTES = 1 << 16 };

static bool ends_in(const char *path, size_t length, const char *suffix)
{
    const size_t count = strlen(suffix);
    return length > count && strncasecmp(path + length - count, suffix, count) == 0;
}

enum text_format text_format_of(const char *path, enum compression *compression)
{
    size_t length;
    *compression = compression_of(path, &length);
    if (ends_in(path, length, ".xml"))
        return TEXT_XML;
    return ends_in(path, length, ".jsonl") || ends_in(path, length, ".ndjson") ? TEXT_JSONL : TEXT_PLAIN;
}

/* ---- files ---- */

const char *text_feed_field(const char *field)
{
    return field ? field : "text";
}

rotary_status text_feed_open(struct text_feed *feed, const char *path, enum text_format format,
                             enum compression compression, const char *field, rotary_error *error)
{
    *feed = (struct text_feed){.path = path, .field = text_feed_field(field), .format = format};
    if (format == TEXT_XML)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "%s: XML is not read as text: wanted plain text or JSON lines (wikiextractor --json "
            "writes them from a dump of Wikipedia)",
            path);
    return decompressed_open(&feed->file, path, compression, error);
}

void text_feed_close(struct text_feed *feed)
{
    decompressed_close(&feed->file);
    text_buffer_free(&feed->read);
}

static rotary_status read_more(struct text_feed *feed, struct text_buffer *text, rotary_error *error)
{
    size_t got = 0;
    rotary_status status = text_buffer_reserve(text, READ_BYTES, error);
    if (status == ROTARY_OK)
        status = decompressed_read(&feed->file, text->bytes + text->count, READ_BYTES, &got, error);
    text->count += (int64_t)got;
    feed->ended = got < READ_BYTES;
    return status;
}

/* The next line, with its end if it has one; its `count` is 0 at the end of the file. */
static rotary_status next_line(struct text_feed *feed, const char **line, int64_t *count, rotary_error *error)
{
    struct text_buffer *read = &feed->read;
    int64_t searched = 0;
    for (;;) {
        const int64_t there = read->count - read->first;
        *line = read->bytes + read->first;
        const char *newline =
            there > searched ? memchr(*line + searched, '\n', (size_t)(there - searched)) : NULL;
        *count = newline ? newline - *line + 1 : there;
        if (*count > TEXT_RECORD_BYTES)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s, line %lld: it has more than %d bytes, the maximum", feed->path,
                               (long long)feed->lines + 1, (int)TEXT_RECORD_BYTES);
        if (newline || feed->ended)
            break;
        searched = there;
        rotary_status status = read_more(feed, read, error);
        if (status != ROTARY_OK)
            return status;
    }
    read->first += *count;
    feed->lines += *count > 0;
    return ROTARY_OK;
}

static bool is_blank(const char *line, int64_t count)
{
    int64_t at = 0;
    while (at < count && strchr(" \t\r\n", line[at]) && line[at])
        at++;
    return at == count;
}

/* ---- records ---- */

static rotary_status add_field(const struct text_feed *feed, const json_t *object, struct text_buffer *text,
                               rotary_error *error)
{
    const json_t *value = json_object_get(object, feed->field);
    if (!json_is_string(value))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: wanted an object with a text \"%.80s\"",
                           feed->path, (long long)feed->lines, feed->field);
    if (json_string_length(value) == 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s, line %lld: the text \"%.80s\" is empty, wanted a document with a token",
                           feed->path, (long long)feed->lines, feed->field);
    return text_buffer_append(text, json_string_value(value), (int64_t)json_string_length(value), error);
}

static rotary_status add_record(struct text_feed *feed, struct text_buffer *text, bool *more,
                                rotary_error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *line;
    int64_t count;
    rotary_status status = next_line(feed, &line, &count, error);
    *more = count > 0;
    if (status != ROTARY_OK || count == 0)
        return status;
    if (feed->lines == 1 && count >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
        count -= 3;
    }
    if (!is_blank(line, count)) {
        json_error_t reason;
        json_t *object = json_numbers_load(line, (size_t)count, JSON_REJECT_DUPLICATES, false, &reason);
        status = object ? add_field(feed, object, text, error)
                        : rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: %s", feed->path,
                                      (long long)feed->lines, reason.text);
        json_decref(object);
    }
    return status == ROTARY_OK ? text_buffer_append(text, "", 1, error) : status;
}

rotary_status text_feed_add(struct text_feed *feed, struct text_buffer *text, bool *more, rotary_error *error)
{
    if (feed->format == TEXT_JSONL)
        return add_record(feed, text, more, error);
    rotary_status status = read_more(feed, text, error);
    *more = !feed->ended;
    return status;
}
