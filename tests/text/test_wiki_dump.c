/* SPDX-License-Identifier: Apache-2.0
 *
 * Wikipedia's dumps: mark-up becomes the text that a reader sees, by cases worked out by hand; articles are
 * those of the dump, whatever pieces it is read in; and files that are refused. 77 without libexpat, after
 * the mark-up was tested.
 */
#include "file/xml.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/text_feed.h"
#include "text/utf8.h"
#include "text/wikitext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- mark-up ---- */

static const struct {
    const char *markup, *text;
} cases[] = {
    {"", ""},
    {"plain text", "plain text"},
    {"'''bold''' ''italic'' '''''both''''' it's ''''dog''''", "bold italic both it's 'dog'"},
    {"a {{t|x}} b", "a b"},
    {"{{a|{{b|{{c}}}}|[[d|e]]}}f", "f"},
    {"{{unclosed [[a|b]]", "unclosed b"},
    {"closed}} twice}}", "closed twice"},
    {"{| class=x\n| a || {{b}}\n|-\n| c\n|}\nafter", "after"},
    {"{{t|a|}}b", "b"},
    {"{|\n| {|\n| a\n|}\n| b\n|}c", "c"},
    {"[[a]] [[b|c]] [[d|e|f]] [[:Category:G]]", "a c e|f Category:G"},
    {"[[File:x.jpg|thumb|a [[b|c]] d]]e", "e"},
    {"[[category:x]]a[[Image:y]][[de:z]][[zh-yue:z]]", "a"},
    {"[[Star Trek: Voyager]] [[star: b]]", "Star Trek: Voyager star: b"},
    {"[http://x.org a b] [https://y.org] http://z.org [c]", "a b http://z.org [c]"},
    {"a<ref>b [[c]]</ref>d<ref name=\"e\"/>f<ref name=g>h</ref>i", "adfi"},
    {"a<math>x < y</math>b<gallery>\nFile:c\n</gallery>d", "abd"},
    {"<b>a</b> <span class=\"x\">b</span><br/>c<br />d", "a b\nc\nd"},
    {"a < b and b > c", "a < b and b > c"},
    {"a<!-- b\n c -->d<!-- e", "ad"},
    {"<nowiki>''a'' [[b]]</nowiki> <nowiki>''c''", "''a'' [[b]] c"},
    {"== A ==\nb\n=== C ===  \nd = e", "A\nb\nC\nd = e"},
    {"* a\n** b\n# c\n: d\n;e", "a\nb\nc\nd\ne"},
    {"----\na", "a"},
    {"a&nbsp;b &ndash; &#8211; &#x2013; &lt; &amp; &unknown; &#0; &#xd800; &",
     "a b – – – < & &unknown; &#0; &#xd800; &"},
    {"__NOTOC__a __b__ __C__", "a __b__"},
    {"Bär ({{lang|x}}; {{y}}) ist ( ) gut (ja)", "Bär ist gut (ja)"},
    {"a  \n\n\n\n b\t\n\n", "a\n\nb"},
    {"|} ]] }}", ""},
    {"]", "]"},
    {"a = = b ==", "a = = b =="},
};

static void check_case(const char *markup, const char *wanted)
{
    const int64_t count = (int64_t)strlen(markup);
    char *plain = malloc((size_t)count + 1);
    if (!CHECK(plain != NULL))
        return;
    memset(plain, 'x', (size_t)count + 1);
    const int64_t length = wikitext_plain(markup, count, plain);
    check_about("%s", markup);
    if (CHECK(length >= 0 && length <= count)) {
        plain[length] = '\0';
        CHECK_TEXT(plain, wanted);
    }
    check_about("%s", "");
    free(plain);
}

static void test_markup(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(cases[i].markup, cases[i].text);
}

/* What would take the square of the time, if time were not proportional. */
static void test_long_markup(void)
{
    enum { BYTES = 1 << 22 };
    static const char *const parts[] = {"{{",   "[[",   "<ref>", "<nowiki>", "=", "<!--",
                                        "[[a|", "{|\n", "<a",    "&",        "'", "("};
    char *text = malloc(BYTES), *plain = malloc(BYTES);
    if (!CHECK(text && plain))
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t length = strlen(parts[i]);
        for (size_t at = 0; at < BYTES; at++)
            text[at] = parts[i][at % length];
        check_about("%s", parts[i]);
        CHECK(wikitext_plain(text, BYTES, plain) <= BYTES);
    }
    check_about("%s", "");
    free(text);
    free(plain);
}

/* ---- dumps ---- */

static const char dump[] =
    "<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.11/\" xml:lang=\"en\">\n"
    "<siteinfo><sitename>Wikipedia</sitename><namespaces><namespace "
    "key=\"1\">Talk</namespace></namespaces></siteinfo>\n"
    "<page><title>One &amp; two</title><ns>0</ns><id>1</id><revision><id>5</id><text xml:space=\"preserve\">"
    "'''One''' &lt;b&gt;is&lt;/b&gt; [[first|Bär]].</text></revision></page>\n"
    "<page><title>Other name</title><ns>0</ns><redirect title=\"One\" /><revision><text>#REDIRECT "
    "[[One]]</text>"
    "</revision></page>\n"
    "<page><title>Talk:One</title><ns>1</ns><revision><text>talk</text></revision></page>\n"
    "<page><title>Template</title><ns>10</ns><revision><text>template</text></revision></page>\n"
    "<page><title>Nothing</title><ns>0</ns><revision><text>{{only|this}}</text></revision></page>\n"
    "<page><title>Empty</title><ns>0</ns><revision><text /></revision></page>\n"
    "<page><title>Two</title><ns>0</ns><revision><text>old</text></revision><revision>"
    "<comment>a comment</comment><text>new\n\n\ntext</text></revision></page>\n"
    "</mediawiki>\n";
static const char articles[] = "One & two\n\nOne is Bär.|Two\n\nnew\n\ntext|";

/* The articles of a file, each with '|' behind it; the caller frees them. NULL: the file is refused. */
static char *read_dump(const char *path, rotary_error *error)
{
    struct text_feed feed;
    struct text_buffer text = {0};
    enum compression compression;
    bool more = true;
    CHECK_INT(text_format_of(path, &compression), TEXT_WIKI);
    rotary_status status = text_feed_open(&feed, path, TEXT_WIKI, compression, NULL, error);
    while (status == ROTARY_OK && more)
        status = text_feed_add(&feed, &text, &more, error);
    text_feed_close(&feed);
    if (status != ROTARY_OK) {
        CHECK_INT(error->status, status);
        text_buffer_free(&text);
        return NULL;
    }
    char *all = calloc((size_t)text.count + 1, 1);
    for (int64_t i = text.first; all && i < text.count; i++)
        all[i] = text.bytes[i] == '\0' ? '|' : text.bytes[i];
    text_buffer_free(&text);
    return all;
}

static void check_dump(const char *path, const char *wanted)
{
    rotary_error error = {0};
    char *got = read_dump(path, &error);
    check_about("%s", path);
    if (CHECK(got != NULL))
        CHECK_TEXT(got, wanted);
    else
        printf("%s\n", error.message);
    check_about("%s", "");
    free(got);
}

static void test_dump(void)
{
    const char *path = scratch_path("pages.xml");
    scratch_write(path, dump, sizeof dump - 1);
    check_dump(path, articles);
}

/* More pages than a block that is read at once, so that some are cut anywhere. */
static void test_many(void)
{
    enum { PAGES = 3000, ROOM = PAGES * 256 };
    char *text = malloc(ROOM), *wanted = malloc(ROOM);
    int used = sprintf(text, "<mediawiki>"), said = 0;
    for (int i = 0; i < PAGES; i++) {
        used += sprintf(
            text + used,
            "<page><title>T%d</title><ns>0</ns><revision><text>a &lt;br/&gt;'''b''' [[c%d|ü%d]] {{d|%d}}"
            "</text></revision></page>\n",
            i, i, i * i, i);
        said += sprintf(wanted + said, "T%d\n\na\nb ü%d|", i, i * i);
    }
    used += sprintf(text + used, "</mediawiki>");
    const char *path = scratch_path("many.xml");
    scratch_write(path, text, (size_t)used);
    check_dump(path, wanted);
    free(text);
    free(wanted);
}

static void check_refused(const char *text, const char *words)
{
    const char *path = scratch_path("bad.xml");
    rotary_error error = {0};
    scratch_write(path, text, strlen(text));
    char *got = read_dump(path, &error);
    check_about("%.60s", text);
    CHECK(got == NULL);
    CHECK_INT(error.status, ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
    free(got);
}

static void test_refused(void)
{
    check_refused("", "bad.xml, line 1: |no element");
    check_refused("text", "bad.xml, line 1: |not XML");
    check_refused("<html><page></page></html>", "\"html\"|\"mediawiki\"");
    check_refused("<mediawiki>\n<page></title>", "bad.xml, line 2: |mismatched tag");
    check_refused("<mediawiki>\n<page><title>a</title>", "bad.xml, line 2: |no element");
    check_refused("<mediawiki>\n\n<page><title>\xff</title></page></mediawiki>", "bad.xml, line 3: ");
    check_refused("<!DOCTYPE x [<!ENTITY a \"b\">]><mediawiki>&a;</mediawiki>", "document type declaration");
    check_refused("<mediawiki>&undefined;</mediawiki>", "undefined entity");
}

/* A file of `begin`, as many bytes of `middle` as make it `bytes` long, and `end`. */
static char *long_text(const char *begin, const char *middle, const char *end, size_t bytes)
{
    char *text = malloc(strlen(begin) + bytes + strlen(end) + 1);
    size_t used = strlen(strcpy(text, begin)), length = strlen(middle);
    for (size_t i = 0; i < bytes; i++)
        text[used++] = middle[i % length];
    strcpy(text + used, end);
    return text;
}

/* What would take ever more memory. */
static void test_bounds(void)
{
    static const struct {
        const char *begin, *middle, *end;
        size_t bytes;
        const char *words;
    } rows[] = {
        {"<mediawiki>", "<a>", "", 3 * 64, "nested deeper"},
        {"<mediawiki><a b=\"", "c", "\"/>", 6 << 20, "tag has more than"},
        {"<mediawiki><page><title>", "c", "</title></page></mediawiki>", 70000, "\"title\" has more than"},
        {"<mediawiki><page><revision><text>", "c", "</text></revision></page></mediawiki>", (64 << 20) + 1,
         "\"text\" has more than"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = long_text(rows[i].begin, rows[i].middle, rows[i].end, rows[i].bytes);
        check_refused(text, rows[i].words);
        free(text);
    }
}

int main(void)
{
    test_markup();
    test_long_markup();
    if (!xml_version()) {
        printf("libexpat is not in this program\n");
        return check_report() == 0 ? 77 : 1;
    }
    test_dump();
    test_many();
    test_refused();
    test_bounds();
    return check_report();
}
