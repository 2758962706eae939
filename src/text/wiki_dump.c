/* SPDX-License-Identifier: Apache-2.0 */
#include "text/wiki_dump.h"

#include "base/fail.h"
#include "file/xml.h"
#include "text/wikitext.h"

#include <stdlib.h>
#include <string.h>

/* What is collected of a page, and where it is: "mediawiki/page/revision/text" is at depth 4. */
enum field { NO_FIELD, TITLE, NAMESPACE, TEXT, FIELDS };
static const struct {
    const char *name;
    int depth;
    int64_t max; /* bytes */
} fields[FIELDS] = {
    [TITLE] = {"title", 3, 1 << 16}, [NAMESPACE] = {"ns", 3, 16}, [TEXT] = {"text", 4, TEXT_PAGE_BYTES}};

struct wiki_dump {
    const char *path;
    struct xml *xml;
    struct xml_handler handler;
    enum field field; /* that is being read */
    struct text_buffer parts[FIELDS];
    bool page, redirect;
    struct text_buffer *out;
};

/* ---- a page ---- */

static void begin_page(struct wiki_dump *dump)
{
    for (int i = 0; i < FIELDS; i++)
        dump->parts[i].first = dump->parts[i].count = 0;
    dump->page = true;
    dump->redirect = false;
}

static bool is_article(const struct wiki_dump *dump)
{
    const struct text_buffer *space = &dump->parts[NAMESPACE];
    return !dump->redirect && (space->count == 0 || (space->count == 1 && space->bytes[0] == '0'));
}

/* Appends title and text, unless the text has nothing but mark-up. */
static rotary_status end_page(struct wiki_dump *dump, rotary_error *error)
{
    const struct text_buffer *title = &dump->parts[TITLE], *text = &dump->parts[TEXT];
    dump->page = false;
    if (!is_article(dump) || text->count == 0)
        return ROTARY_OK;
    rotary_status status = text_buffer_reserve(dump->out, title->count + text->count + 3, error);
    if (status != ROTARY_OK)
        return status;
    char *begin = dump->out->bytes + dump->out->count, *at = begin;
    if (title->count > 0) {
        memcpy(at, title->bytes, (size_t)title->count);
        at += title->count;
        *at++ = '\n';
        *at++ = '\n';
    }
    const int64_t plain = wikitext_plain(text->bytes, text->count, at);
    if (plain == 0)
        return ROTARY_OK;
    at[plain] = '\0';
    dump->out->count += at - begin + plain + 1;
    return ROTARY_OK;
}

/* ---- events ---- */

static rotary_status begin(void *argument, const char *name, int depth, rotary_error *error)
{
    struct wiki_dump *dump = argument;
    if (depth == 1 && strcmp(name, "mediawiki") != 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.350s is no dump of Wikipedia: its outermost element is \"%.40s\", wanted "
                           "\"mediawiki\"",
                           dump->path, name);
    if (depth == 2 && strcmp(name, "page") == 0)
        begin_page(dump);
    if (depth == 3 && strcmp(name, "redirect") == 0)
        dump->redirect = true;
    dump->field = NO_FIELD;
    for (int i = NO_FIELD + 1; i < FIELDS && dump->page; i++)
        if (depth == fields[i].depth && strcmp(name, fields[i].name) == 0) {
            dump->field = (enum field)i;
            dump->parts[i].count = 0;
        }
    return ROTARY_OK;
}

static rotary_status end(void *argument, const char *name, int depth, rotary_error *error)
{
    struct wiki_dump *dump = argument;
    dump->field = NO_FIELD;
    return depth == 2 && strcmp(name, "page") == 0 ? end_page(dump, error) : ROTARY_OK;
}

static rotary_status add_text(void *argument, const char *bytes, size_t count, rotary_error *error)
{
    struct wiki_dump *dump = argument;
    if (dump->field == NO_FIELD)
        return ROTARY_OK;
    struct text_buffer *part = &dump->parts[dump->field];
    const int64_t max = fields[dump->field].max;
    if (part->count + (int64_t)count > max)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.350s, line %lld: \"%s\" has more than %lld bytes, the maximum", dump->path,
                           xml_line(dump->xml), fields[dump->field].name, (long long)max);
    return text_buffer_append(part, bytes, (int64_t)count, error);
}

/* ---- reading ---- */

rotary_status wiki_dump_create(struct wiki_dump **out, const char *path, rotary_error *error)
{
    struct wiki_dump *dump = calloc(1, sizeof *dump);
    if (!dump)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %s", path);
    dump->path = path;
    dump->handler = (struct xml_handler){.argument = dump, .begin = begin, .end = end, .text = add_text};
    rotary_status status = xml_create(&dump->xml, path, &dump->handler, error);
    if (status == ROTARY_OK)
        *out = dump;
    else
        free(dump);
    return status;
}

rotary_status wiki_dump_feed(struct wiki_dump *dump, const struct text_buffer *bytes, bool last,
                             struct text_buffer *text, rotary_error *error)
{
    dump->out = text;
    return xml_feed(dump->xml, bytes->bytes + bytes->first, (size_t)(bytes->count - bytes->first), last,
                    error);
}

void wiki_dump_destroy(struct wiki_dump *dump)
{
    if (!dump)
        return;
    for (int i = 0; i < FIELDS; i++)
        text_buffer_free(&dump->parts[i]);
    xml_destroy(dump->xml);
    free(dump);
}
