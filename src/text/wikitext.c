/* SPDX-License-Identifier: Apache-2.0 */
#include "text/wikitext.h"

#include "base/integer.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* One pass writes the text. What opens is put on a stack with the place in the output, and what closes it
 * takes back what was written since, or keeps a part. */
enum construct { TEMPLATE, TABLE, LINK, ELEMENT };
enum { MAX_OPEN = 64, MAX_NAME = 16, MAX_ENTITY = 10 };

struct open {
    enum construct construct;
    int element;  /* of ELEMENT: which one */
    int64_t from; /* in the output */
};

struct writer {
    const char *text;
    int64_t count, at;
    char *plain;
    int64_t written;
    struct open open[MAX_OPEN];
    int depth;
    bool heading;   /* the line is one */
    bool no_nowiki; /* there is no </nowiki> in the rest of the text */
};

/* ---- looking ahead ---- */

static bool is_here(const struct writer *writer, const char *mark)
{
    const int64_t length = (int64_t)strlen(mark);
    return writer->count - writer->at >= length &&
           memcmp(writer->text + writer->at, mark, (size_t)length) == 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The bytes of a run of `mark` here. */
static int64_t run_of(const struct writer *writer, char mark)
{
    int64_t end = writer->at;
    while (end < writer->count && writer->text[end] == mark)
        end++;
    return end - writer->at;
}

static void put(struct writer *writer, char c)
{
    writer->plain[writer->written++] = c;
}

/* ---- the stack ---- */

static void push(struct writer *writer, enum construct construct, int element)
{
    if (writer->depth < MAX_OPEN)
        writer->open[writer->depth++] = (struct open){construct, element, writer->written};
}

/* Takes what is open from the stack, and all that was opened since; false if nothing such is open. */
static bool pop(struct writer *writer, enum construct construct, int element, struct open *open)
{
    for (int i = writer->depth - 1; i >= 0; i--) {
        if (writer->open[i].construct != construct || writer->open[i].element != element)
            continue;
        *open = writer->open[i];
        writer->depth = i;
        return true;
    }
    return false;
}

/* What closes a construct whose content is left out. */
static void close_dropped(struct writer *writer, enum construct construct, int64_t length)
{
    struct open open;
    if (pop(writer, construct, 0, &open))
        writer->written = open.from;
    writer->at += length;
}

/* ---- links ---- */

static bool begins_with(const char *text, int64_t count, const char *name)
{
    const int64_t length = (int64_t)strlen(name);
    return count >= length && strncasecmp(text, name, (size_t)length) == 0;
}

/* Whether a link shows a file, sorts the article, or leads to another language: "de:", "zh-yue:". */
static bool is_hidden(const char *target, int64_t count)
{
    static const char *const spaces[] = {"file:", "image:", "category:", "media:"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (begins_with(target, count, spaces[i]))
            return true;
    int64_t letters = 0;
    while (letters < count && ((target[letters] >= 'a' && target[letters] <= 'z') || target[letters] == '-'))
        letters++;
    return letters >= 2 && letters <= 12 && letters < count && target[letters] == ':' &&
           (letters <= 3 || memchr(target, '-', (size_t)letters));
}

static void close_link(struct writer *writer)
{
    struct open open;
    writer->at += 2;
    if (!pop(writer, LINK, 0, &open))
        return;
    char *target = writer->plain + open.from;
    const int64_t count = max_i64(writer->written - open.from, 0);
    if (is_hidden(target, count)) {
        writer->written = open.from;
        return;
    }
    const char *bar = memchr(target, '|', (size_t)count);
    const int64_t left_out = bar ? bar + 1 - target : count > 0 && target[0] == ':' ? 1 : 0;
    memmove(target, target + left_out, (size_t)(count - left_out));
    writer->written -= left_out;
}

/* "[http://... label]": the label stays, and the bracket behind it goes (see step). */
static bool skip_address(struct writer *writer)
{
    static const char *const schemes[] = {"http://", "https://", "ftp://", "//", "mailto:"};
    const char *address = writer->text + writer->at + 1;
    const int64_t rest = writer->count - writer->at - 1;
    bool known = false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        known |= begins_with(address, rest, schemes[i]);
    if (!known)
        return false;
    int64_t length = 0;
    while (length < rest && address[length] != ' ' && address[length] != ']' && address[length] != '\n')
        length++;
    writer->at += 1 + length + (length < rest && address[length] != '\n');
    if (length < rest && address[length] == ' ')
        push(writer, LINK, 1);
    return true;
}

/* ---- elements ---- */

/* Whose content is no prose. */
static const char *const dropped[] = {
    "ref",  "math",       "gallery", "timeline", "syntaxhighlight", "source",   "code",  "imagemap", "score",
    "chem", "references", "hiero",   "pre",      "graph",           "mapframe", "style", NULL};

static int element_of(const char *name, int64_t length)
{
    for (int i = 0; dropped[i]; i++)
        if ((int64_t)strlen(dropped[i]) == length && strncasecmp(dropped[i], name, (size_t)length) == 0)
            return i + 1;
    return 0;
}

static void skip_comment(struct writer *writer)
{
    const char *from = writer->text + writer->at,
               *end = memmem(from, (size_t)(writer->count - writer->at), "-->", 3);
    writer->at = end ? end + 3 - writer->text : writer->count;
}

/* Copies what stands in <nowiki>. */
static void copy_nowiki(struct writer *writer)
{
    static const char close[] = "</nowiki>";
    const int64_t length = (int64_t)strlen("<nowiki>"), rest = writer->count - writer->at - length;
    const char *from = writer->text + writer->at + length,
               *end = writer->no_nowiki ? NULL : memmem(from, (size_t)rest, close, sizeof close - 1);
    writer->no_nowiki = !end;
    writer->at += length;
    if (!end)
        return;
    memcpy(writer->plain + writer->written, from, (size_t)(end - from));
    writer->written += end - from;
    writer->at = end + (sizeof close - 1) - writer->text;
}

/* A tag ends before the next line does, and has not many bytes; else "<" is text. */
static void skip_tag(struct writer *writer)
{
    enum { MAX_TAG = 1024 };
    const char *tag = writer->text + writer->at + 1;
    const int64_t rest = min_i64(writer->count - writer->at - 1, MAX_TAG);
    const bool closes = rest > 0 && tag[0] == '/';
    int64_t name = closes, end;
    while (name < rest && is_letter(tag[name]))
        name++;
    for (end = name; end < rest && tag[end] != '>' && tag[end] != '<'; end++)
        ;
    if (name == closes || end == rest || tag[end] != '>') {
        put(writer, '<');
        writer->at++;
        return;
    }
    const int element = element_of(tag + closes, name - closes);
    struct open open;
    if (element > 0 && closes && pop(writer, ELEMENT, element, &open))
        writer->written = open.from;
    else if (element > 0 && !closes && tag[end - 1] != '/')
        push(writer, ELEMENT, element);
    else if (name - closes == 2 && strncasecmp(tag + closes, "br", 2) == 0)
        put(writer, '\n');
    writer->at += end + 2;
}

static void read_element(struct writer *writer)
{
    if (is_here(writer, "<!--"))
        skip_comment(writer);
    else if (is_here(writer, "<nowiki>"))
        copy_nowiki(writer);
    else
        skip_tag(writer);
}

/* ---- characters ---- */

/* A code point as UTF-8, which is never longer than what stands for it. */
static void put_point(struct writer *writer, uint32_t point)
{
    if (point < 0x80) {
        put(writer, (char)point);
        return;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    put(writer, (char)(first[more] | point >> 6 * more));
    for (int i = more - 1; i >= 0; i--)
        put(writer, (char)(0x80 | (point >> 6 * i & 0x3f)));
}

static bool is_text(uint32_t point)
{
    return point == '\t' || point == '\n' || (point >= ' ' && point < 0xd800) ||
           (point >= 0xe000 && point < 0xfffe) || (point >= 0x10000 && point < 0x110000);
}

static uint32_t number_of(const char *digits, int64_t count)
{
    const bool hexadecimal = count > 0 && (digits[0] == 'x' || digits[0] == 'X');
    const uint32_t base = hexadecimal ? 16 : 10;
    uint32_t number = 0;
    if (count - hexadecimal < 1 || count - hexadecimal > 7)
        return 0;
    for (int64_t i = hexadecimal; i < count; i++) {
        const char c = digits[i];
        const uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                               : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                               : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                      : base;
        if (digit >= base)
            return 0;
        number = number * base + digit;
    }
    return number;
}

static void read_entity(struct writer *writer)
{
    static const struct {
        const char *name;
        uint32_t point;
    } entities[] = {{"nbsp", ' '},     {"ensp", ' '},     {"thinsp", ' '},    {"ndash", 0x2013},
                    {"mdash", 0x2014}, {"minus", 0x2212}, {"amp", '&'},       {"lt", '<'},
                    {"gt", '>'},       {"quot", '"'},     {"hellip", 0x2026}, {"lsquo", 0x2018},
                    {"rsquo", 0x2019}, {"ldquo", 0x201c}, {"rdquo", 0x201d},  {"times", 0xd7},
                    {"deg", 0xb0},     {"middot", 0xb7}};
    const char *name = writer->text + writer->at + 1;
    const int64_t rest = min_i64(writer->count - writer->at - 1, MAX_ENTITY);
    const char *end = rest > 0 ? memchr(name, ';', (size_t)rest) : NULL;
    uint32_t point = 0;
    if (end && name[0] == '#')
        point = number_of(name + 1, end - name - 1);
    for (size_t i = 0; end && i < sizeof entities / sizeof *entities; i++)
        if ((int64_t)strlen(entities[i].name) == end - name &&
            memcmp(entities[i].name, name, (size_t)(end - name)) == 0)
            point = entities[i].point;
    if (point == 0 || !is_text(point)) {
        put(writer, '&');
        writer->at++;
        return;
    }
    put_point(writer, point);
    writer->at = end + 1 - writer->text;
}

/* Two apostrophes are italic, three bold, five both; of four the first is text. */
static void read_apostrophes(struct writer *writer)
{
    const int64_t length = run_of(writer, '\'');
    const int64_t kept = length == 1 ? 1 : length == 4 ? 1 : length > 5 ? length - 5 : 0;
    for (int64_t i = 0; i < kept; i++)
        put(writer, '\'');
    writer->at += length;
}

/* __NOTOC__ and the like. */
static bool skip_switch(struct writer *writer)
{
    int64_t end = writer->at + 2;
    while (end < writer->count && end - writer->at < MAX_NAME + 2 && writer->text[end] >= 'A' &&
           writer->text[end] <= 'Z')
        end++;
    if (end == writer->at + 2 || writer->count - end < 2 || memcmp(writer->text + end, "__", 2) != 0)
        return false;
    writer->at = end + 2;
    return true;
}

/* ---- lines ---- */

/* Skips the marks that begin a line: of lists, of headings and of rules. */
static void begin_line(struct writer *writer)
{
    writer->heading = false;
    if (writer->at == writer->count)
        return;
    const char first = writer->text[writer->at];
    if (first == '=') {
        writer->heading = true;
        writer->at += run_of(writer, '=');
    } else if (strchr("*#:;", first) && first) {
        while (writer->at < writer->count && writer->text[writer->at] &&
               strchr("*#:;", writer->text[writer->at]))
            writer->at++;
    } else if (is_here(writer, "----")) {
        writer->at += run_of(writer, '-');
        return;
    } else {
        return;
    }
    while (writer->at < writer->count && writer->text[writer->at] == ' ')
        writer->at++;
}

/* The marks behind a heading, with the spaces before the line's end. */
static bool skip_heading_end(struct writer *writer)
{
    int64_t end = writer->at + run_of(writer, '=');
    while (end < writer->count && writer->text[end] == ' ')
        end++;
    if (!writer->heading || (end < writer->count && writer->text[end] != '\n'))
        return false;
    writer->at = end;
    return true;
}

/* ---- all of it ---- */

static void step_bracket(struct writer *writer)
{
    struct open open;
    if (is_here(writer, "[[")) {
        push(writer, LINK, 0);
        writer->at += 2;
    } else if (is_here(writer, "]]")) {
        close_link(writer);
    } else if (writer->text[writer->at] == '[') {
        if (!skip_address(writer)) {
            put(writer, '[');
            writer->at++;
        }
    } else {
        if (!pop(writer, LINK, 1, &open))
            put(writer, ']');
        writer->at++;
    }
}

static bool step_brace(struct writer *writer)
{
    if (is_here(writer, "{{")) {
        push(writer, TEMPLATE, 0);
        writer->at += 2;
    } else if (is_here(writer, "}}")) {
        close_dropped(writer, TEMPLATE, 2);
    } else if (is_here(writer, "{|")) {
        push(writer, TABLE, 0);
        writer->at += 2;
    } else if (is_here(writer, "|}") && !is_here(writer, "|}}")) {
        close_dropped(writer, TABLE, 2);
    } else {
        return false;
    }
    return true;
}

static void step(struct writer *writer)
{
    const char c = writer->text[writer->at];
    if ((c == '{' || c == '}' || c == '|') && step_brace(writer))
        return;
    if (c == '[' || c == ']') {
        step_bracket(writer);
    } else if (c == '<') {
        read_element(writer);
    } else if (c == '&') {
        read_entity(writer);
    } else if (c == '\'') {
        read_apostrophes(writer);
    } else if ((c == '_' && is_here(writer, "__") && skip_switch(writer)) ||
               (c == '=' && skip_heading_end(writer))) {
        return;
    } else if (c == '=') {
        for (int64_t left = run_of(writer, '='); left > 0; left--, writer->at++)
            put(writer, '=');
    } else {
        put(writer, c);
        writer->at++;
        if (c == '\n')
            begin_line(writer);
    }
}

/* Whether the output ends with a parenthesis that nothing but marks follow: where it opens; else -1. */
static int64_t empty_parenthesis(const char *plain, int64_t written)
{
    int64_t at = written;
    while (at > 0 && written - at < MAX_NAME && plain[at - 1] && strchr(" ,;", plain[at - 1]))
        at--;
    return at > 0 && plain[at - 1] == '(' ? at - 1 : -1;
}

/* Leaves out spaces before line ends, all blank lines but one, and those at both ends. */
static int64_t tidy(char *plain, int64_t count)
{
    int64_t written = 0, lines = 2; /* line ends that were written last */
    for (int64_t i = 0; i < count; i++) {
        const char c = plain[i];
        if (c == ')') {
            const int64_t from = empty_parenthesis(plain, written);
            if (from >= 0) {
                written = from > 0 && plain[from - 1] == ' ' ? from - 1 : from;
                continue;
            }
        }
        if (c == '\n') {
            while (written > 0 && (plain[written - 1] == ' ' || plain[written - 1] == '\t'))
                written--;
            lines = written > 0 && plain[written - 1] == '\n' ? lines : 0;
            if (written == 0 || lines == 2)
                continue;
            lines++;
        } else if (c == ' ' && (written == 0 || plain[written - 1] == '\n' || plain[written - 1] == ' ')) {
            continue;
        } else {
            lines = 0;
        }
        plain[written++] = c;
    }
    while (written > 0 && strchr(" \t\n", plain[written - 1]) && plain[written - 1])
        written--;
    return written;
}

int64_t wikitext_plain(const char *text, int64_t count, char *plain)
{
    struct writer writer = {.text = text, .count = count, .plain = plain};
    begin_line(&writer);
    while (writer.at < writer.count)
        step(&writer);
    return tidy(plain, writer.written);
}
