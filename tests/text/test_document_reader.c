/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents of texts: where they begin and end, and that sections of any size have the documents of the whole
 * text. The reference splits a text into lines one character at a time.
 */
#include "support/check.h"
#include "text/corpus/document_reader.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 12, MARK = '|' };

/* The documents of a text, each with a '|' behind it. */
struct joined {
    char text[2 * MAX_TEXT];
    int64_t count;
};

static void append(struct joined *joined, const char *bytes, int64_t count)
{
    memcpy(joined->text + joined->count, bytes, (size_t)count);
    joined->count += count;
    joined->text[joined->count] = '\0';
}

/* ---- the reference ---- */

static bool has_letter(const char *line)
{
    return line[strspn(line, " \t\r\v\f")] != '\0';
}

static void reference(const char *text, enum document_boundary boundary, struct joined *joined)
{
    char line[MAX_TEXT];
    bool inside = false;
    joined->text[joined->count = 0] = '\0';
    if (boundary == DOCUMENT_FILE) {
        append(joined, text, (int64_t)strlen(text));
        append(joined, "|", 1);
        return;
    }
    const char *ending = ""; /* the last line's */
    while (*text) {
        int length = 0;
        while (*text && *text != '\n')
            line[length++] = *text++;
        line[length] = '\0';
        const bool carriage = *text && length > 0 && line[length - 1] == '\r';
        if (inside && (boundary == DOCUMENT_LINE || !has_letter(line))) {
            append(joined, "|", 1);
            inside = false;
        }
        if (has_letter(line)) {
            if (inside)
                append(joined, ending, (int64_t)strlen(ending));
            append(joined, line, length - carriage);
            inside = true;
        }
        ending = carriage ? "\r\n" : "\n";
        text += *text != '\0';
    }
    if (inside)
        append(joined, "|", 1);
}

/* Records, each with a zero byte behind it. Spaces are text, and a record without any text is no document. */
static void reference_records(const char *text, int64_t count, struct joined *joined)
{
    joined->text[joined->count = 0] = '\0';
    for (int64_t begin = 0, length; begin < count; begin += length + 1) {
        length = (int64_t)strlen(text + begin);
        append(joined, text + begin, length);
        append(joined, "|", length > 0);
    }
}

/* ---- sections ---- */

/* Adds the documents of a section, as who tokenises does; `open`: the last one may go on. */
static void add_section(struct joined *joined, const struct text_section *section, bool *open)
{
    struct document_reader reader = {.section = section};
    struct document_part part;
    while (document_reader_next(&reader, &part)) {
        CHECK(part.bytes >= section->bytes && part.bytes + part.count <= section->bytes + section->count);
        CHECK(!part.continues || part.bytes == section->bytes);
        if (*open && !part.continues)
            append(joined, "|", 1);
        append(joined, part.bytes, part.count);
        *open = part.open;
        if (!part.open)
            append(joined, "|", 1);
    }
}

static void read_in_sections(const char *text, int64_t count, int64_t size, enum document_boundary boundary,
                             struct joined *joined)
{
    bool open = false, continues = false, next = false;
    joined->text[joined->count = 0] = '\0';
    for (int64_t begin = 0, end; begin < count; begin = end, continues = next) {
        end = document_section_end(text, count, begin, size, boundary, &next);
        if (!CHECK(end <= count && end > begin && (end == count || end - begin >= size)) ||
            !CHECK(end - begin <= 2 * size))
            return;
        if (boundary != DOCUMENT_RECORD) /* its zero bytes are no text */
            CHECK_INT(utf8_valid_bytes(text + begin, end - begin), end - begin);
        const struct text_section section = {text + begin, end - begin, continues, boundary};
        add_section(joined, &section, &open);
    }
    if (open)
        append(joined, "|", 1);
}

static void check_text_documents(const char *text, enum document_boundary boundary, const char *wanted)
{
    static struct joined joined;
    check_about("\"%s\" by %s", text, document_boundary_names[boundary]);
    reference(text, boundary, &joined);
    CHECK_TEXT(joined.text, wanted);
    read_in_sections(text, (int64_t)strlen(text), MAX_TEXT, boundary, &joined);
    CHECK_TEXT(joined.text, wanted);
    check_about("%s", "");
}

static void test_documents(void)
{
    check_text_documents("a\nb\n\nc\n", DOCUMENT_BLANK_LINE, "a\nb|c|");
    check_text_documents("\n \na\n\t \r\n\n b \nc", DOCUMENT_BLANK_LINE, "a| b \nc|");
    check_text_documents("a\r\nb\r\n\r\nc\r", DOCUMENT_BLANK_LINE, "a\r\nb|c\r|");
    check_text_documents(" \n\n", DOCUMENT_BLANK_LINE, "");
    check_text_documents("a\nb\n\n c\r\n", DOCUMENT_LINE, "a|b| c|");
    check_text_documents("\n", DOCUMENT_LINE, "");
    check_text_documents("a\n\f\nb\n\v \t\r\n c\n", DOCUMENT_BLANK_LINE, "a|b| c|");
    check_text_documents("a\n\f\n\r\r\nb\n", DOCUMENT_LINE, "a|b|");
    check_text_documents("a\n\nb\r\n", DOCUMENT_FILE, "a\n\nb\r\n|");
    struct text_section empty = {"", 0, false, DOCUMENT_FILE};
    struct document_reader reader = {.section = &empty};
    struct document_part part;
    CHECK(document_reader_next(&reader, &part));
    CHECK_INT(part.count, 0);
    CHECK(!document_reader_next(&reader, &part));
}

/* Texts of few kinds of characters, so that every neighbourhood occurs. Runs of spaces are shorter than a
 * section: of longer ones no section knows whether their line is blank. */
static void make_text(char *text, uint64_t seed, int64_t size)
{
    static const char *const words[] = {"a",    "b",     "\xc3\xa9", "\xf0\x9f\x98\x80",
                                        " ",    "\t",    "\n",       "\n\n",
                                        "\r\n", "\n \n", "\r",       "abcdefghijklmnopqrstuvwxyz"};
    enum { WORDS = sizeof words / sizeof words[0] };
    const int likely = (int)(seed % 3) + 1; /* how many kinds there are in most of the text */
    int64_t count = 0, spaces = 0;
    for (uint64_t i = 0; count < 300; i++) {
        const float random = check_random(seed, i, 0);
        const unsigned choice = (unsigned)(int)(random * 1e4f);
        const char *word = words[choice % 4 == 0 ? choice / 4 % WORDS : choice / 4 % (unsigned)likely];
        const int64_t length = (int64_t)strlen(word);
        if (strspn(word, " \t\r\n") == (size_t)length && (spaces += length) >= size)
            continue;
        spaces = strspn(word, " \t\r\n") == (size_t)length ? spaces : 0;
        memcpy(text + count, word, (size_t)length);
        count += length;
    }
    text[count] = '\0';
}

static void test_sections(void)
{
    static struct joined whole, sections;
    char text[MAX_TEXT];
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const int64_t size = 8 + (int64_t)(seed / 3 % 40);
        make_text(text, seed, size);
        for (int boundary = 0; boundary < DOCUMENT_BOUNDARIES; boundary++) {
            check_about("seed %d, sections of %d, by %s", (int)seed, (int)size,
                        document_boundary_names[boundary]);
            reference(text, (enum document_boundary)boundary, &whole);
            read_in_sections(text, (int64_t)strlen(text), size, (enum document_boundary)boundary, &sections);
            CHECK_TEXT(sections.text, whole.text);
        }
    }
    check_about("%s", "");
}

/* In sections of some size, and in one. */
static void check_records(const char *text, int64_t count, int64_t size)
{
    static struct joined whole, sections;
    reference_records(text, count, &whole);
    read_in_sections(text, count, size, DOCUMENT_RECORD, &sections);
    CHECK_TEXT(sections.text, whole.text);
    read_in_sections(text, count, MAX_TEXT, DOCUMENT_RECORD, &sections);
    CHECK_TEXT(sections.text, whole.text);
}

/* A record of spaces is a document, however many they are, as is what has lines and blank lines. */
static void test_records(void)
{
    static const char spaces[] = "a\0\0 \0                                                        b\0"
                                 "                                                        \0\n\n\0";
    char text[MAX_TEXT];
    for (int64_t size = 8; size < 48; size++) {
        check_about("spaces in sections of %d", (int)size);
        check_records(spaces, sizeof spaces - 1, size);
    }
    for (uint64_t seed = 0; seed < 1000; seed++) {
        const int64_t size = 8 + (int64_t)(seed / 3 % 40);
        make_text(text, seed, size);
        const int64_t count = (int64_t)strlen(text) + 1; /* the last record ends with the text */
        for (int64_t i = 0; i < count; i++)
            if (text[i] == '\t' || text[i] == '\r')
                text[i] = '\0';
            else if (text[i] == '\n' && text[i + 1] == '\n')
                text[i] = text[i + 1] = '\0';
        check_about("records of seed %d, sections of %d", (int)seed, (int)size);
        check_records(text, count, size);
    }
    check_about("%s", "");
}

int main(void)
{
    test_documents();
    test_sections();
    test_records();
    return check_report();
}
