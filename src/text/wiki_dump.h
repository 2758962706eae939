/* SPDX-License-Identifier: Apache-2.0
 *
 * Wikipedia's dumps (pages-articles.xml): the articles of a file of MediaWiki's export format, as plain text.
 */
#ifndef ROTARY_TEXT_WIKI_DUMP_H
#define ROTARY_TEXT_WIKI_DUMP_H

#include "text/text_buffer.h"

#include <stdbool.h>

struct wiki_dump;

/* `path` is the file's name in messages, and borrowed. ROTARY_UNSUPPORTED in a program without a reader of
 * XML (file/xml.h). */
ROTARY_CHECKED rotary_status wiki_dump_create(struct wiki_dump **dump, const char *path, rotary_error *error);
/* Reads the file's next bytes, `bytes` from its first on, `last` with its end. Appends to `text` the articles
 * that end in them: title, a blank line, text without mark-up (text/wikitext.h), a zero byte. Articles are
 * the pages of namespace 0 that are no redirects and have some text; of several revisions the last is taken.
 * ROTARY_BAD_FILE, with file and line, for what is no XML or no such dump, and for a page of more than
 * TEXT_PAGE_BYTES. */
enum { TEXT_PAGE_BYTES = 1 << 26 };
ROTARY_CHECKED rotary_status wiki_dump_feed(struct wiki_dump *dump, const struct text_buffer *bytes,
                                            bool last, struct text_buffer *text, rotary_error *error);
void wiki_dump_destroy(struct wiki_dump *dump); /* NULL is allowed */

#endif
