/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text: ends of lines, byte-order marks, empty and long lines, what is no text, pipes, and files
 * that do not belong together.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/text_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 24 };

static const char *file_of(const char *name, const char *text, int64_t bytes)
{
    const char *path = scratch_path(name);
    scratch_write(path, text, (size_t)bytes);
    return path;
}

static rotary_status read_text(struct text_lines *lines, const char *text, int64_t bytes, rotary_error *error)
{
    return text_lines_read(lines, file_of("text", text, bytes), MAX_FILE, error);
}

/* `wanted` has the lines with a '|' behind each. */
static void check_lines(const char *text, const char *wanted)
{
    struct text_lines lines;
    char joined[256] = "";
    check_about("\"%s\"", text);
    if (!CHECK_INT(read_text(&lines, text, (int64_t)strlen(text), NULL), ROTARY_OK))
        return;
    for (int64_t i = 0; i < lines.count; i++) {
        const struct text_line line = text_lines_at(&lines, i);
        CHECK_INT((int64_t)strlen(line.bytes), line.count);
        strcat(strcat(joined, line.bytes), "|");
    }
    CHECK_TEXT(joined, wanted);
    check_about("%s", "");
    text_lines_free(&lines);
}

static void test_ends(void)
{
    check_lines("", "");
    check_lines("\n", "|");
    check_lines("a", "a|");
    check_lines("a\nb\n", "a|b|");
    check_lines("a\nb", "a|b|");
    check_lines("\n\na\n\n", "||a||");
    check_lines("a\r\nb\r\n\r\n", "a|b||");
    check_lines("a\rb\r", "a\rb\r|"); /* ends no line, and neither does the last, which has no "\n" */
    check_lines("\xef\xbb\xbf"
                "a\n\xef\xbb\xbf"
                "b\n",
                "a|\xef\xbb\xbf"
                "b|");
    check_lines("\xef\xbb\xbf", "|");
    check_lines("\xef\xbb\xbf\r\n", "|");
    check_lines("a\xc2\x85"
                "b\xe2\x80\xa8"
                "c\fd\n",
                "a\xc2\x85"
                "b\xe2\x80\xa8"
                "c\fd|");
}

static void test_refused(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
        const char *words;
    } cases[] = {
        {"a\nb\xff\n", 5, "text, line 2: |byte 0xff at position 2 "},
        {"a\nb\nxy\xc3", 7, "text, line 3: |byte 0xc3 at position 3 "},
        {"\xc3\n\xa9\n", 4, "text, line 1: |byte 0xc3 at position 1 "},
        {"a\0b\n", 4, "text, line 1: |byte 0x00 at position 2 "},
        {"\xff\xfe"
         "a\0\n\0",
         6, "text, line 1: |byte 0xff at position 1 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text_lines lines;
        rotary_error error = {0};
        check_about("text %zu", i);
        CHECK_INT(read_text(&lines, cases[i].text, cases[i].bytes, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, cases[i].words);
    }
    check_about("%s", "");
    struct text_lines lines;
    rotary_error error = {0};
    CHECK_INT(text_lines_read(&lines, scratch_path("nothing"), MAX_FILE, &error), ROTARY_IO_ERROR);
    CHECK_INT(text_lines_read(&lines, scratch_folder(), MAX_FILE, &error), ROTARY_IO_ERROR);
    CHECK_INT(text_lines_read(&lines, file_of("text", "a\nbc\n", 5), 5, &error), ROTARY_OK);
    text_lines_free(&lines);
    CHECK_INT(text_lines_read(&lines, file_of("text", "a\nbc\n", 5), 4, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "text has more than 4 bytes");
}

/* Lines of every length around the sizes of the blocks, up to the longest, and one more. */
static void test_long_lines(void)
{
    static const char *const ends[] = {"\n", "\r\n", ""};
    static const int64_t lengths[] = {(1 << 15) - 1,  1 << 15,       (1 << 16) - 2, (1 << 16) - 1,
                                      1 << 16,        (1 << 17) + 3, (1 << 19) - 1, TEXT_LINE_BYTES - 1,
                                      TEXT_LINE_BYTES};
    char *text = malloc(2 * TEXT_LINE_BYTES + 64);
    for (int end = 0; end < 3; end++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            int64_t length = lengths[i], bytes = length + sprintf(text, "\xef\xbb\xbf");
            memset(text + 3, 'x', (size_t)length);
            bytes += sprintf(text + bytes, "%s%s", ends[end], end < 2 ? "last" : "");
            struct text_lines lines;
            check_about("%lld bytes, end %d", (long long)length, end);
            if (!CHECK_INT(read_text(&lines, text, bytes, NULL), ROTARY_OK))
                continue;
            CHECK_INT(lines.count, end < 2 ? 2 : 1);
            CHECK_INT(text_lines_at(&lines, 0).count, length);
            CHECK_INT((int64_t)strspn(text_lines_at(&lines, 0).bytes, "x"), length);
            CHECK_TEXT(text_lines_at(&lines, lines.count - 1).bytes + (end < 2 ? 0 : length),
                       end < 2 ? "last" : "");
            text_lines_free(&lines);
        }
    check_about("%s", "");
    for (int64_t more = 1; more < TEXT_LINE_BYTES; more *= 32) {
        struct text_lines lines;
        rotary_error error = {0};
        memset(text, 'x', 2 * TEXT_LINE_BYTES);
        memcpy(text, "a\n", 2);
        text[2 + TEXT_LINE_BYTES + more] = '\n';
        CHECK_INT(read_text(&lines, text, 2 + TEXT_LINE_BYTES + more + 1, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, "text, line 2: |more than 1048576 bytes");
    }
    free(text);
}

/* A line is there before the next is written, and after an unreadable one come the others. */
static void test_pipe(void)
{
    int ends[2];
    struct text_reader reader;
    struct text_line line;
    rotary_error error = {0};
    int kept = dup(STDIN_FILENO);
    CHECK(pipe(ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    CHECK_INT(text_reader_open(&reader, NULL, NULL), ROTARY_OK);
    static const char *const lines[] = {"first\n", "\n", "se", "cond\n", "\xff\n", "last"};
    static const char *const wanted[] = {"first", "", NULL, "second", NULL, "last"};
    for (int i = 0; i < 6; i++) {
        CHECK(write(ends[1], lines[i], strlen(lines[i])) == (ssize_t)strlen(lines[i]));
        if (i == 5)
            close(ends[1]);
        if (i == 4) {
            CHECK_INT(text_reader_next(&reader, &line, &error), ROTARY_BAD_FILE);
            CHECK_WORDS(error.message, "standard input, line 4: ");
        }
        if (!wanted[i])
            continue;
        CHECK_INT(text_reader_next(&reader, &line, NULL), ROTARY_OK);
        CHECK_TEXT(line.bytes, wanted[i]);
    }
    CHECK_INT(reader.number, 5);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(text_reader_next(&reader, &line, NULL), ROTARY_OK);
        CHECK(line.bytes == NULL);
    }
    text_reader_close(&reader);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
}

static void test_aligned(void)
{
    struct text_lines first, second, third;
    rotary_error error = {0};
    CHECK_INT(text_lines_read(&first, file_of("train.de", "a\n\nb\n", 5), MAX_FILE, NULL), ROTARY_OK);
    CHECK_INT(text_lines_read(&second, file_of("train.en", "x\ny\nz", 5), MAX_FILE, NULL), ROTARY_OK);
    CHECK_INT(text_lines_read(&third, file_of("train.fr", "x\ny\n", 4), MAX_FILE, NULL), ROTARY_OK);
    CHECK_INT(text_lines_check_aligned(&first, &second, &error), ROTARY_OK);
    CHECK_INT(text_lines_check_aligned(&first, &third, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "train.de has 3 lines|train.fr 2");
    text_lines_free(&first);
    text_lines_free(&second);
    text_lines_free(&third);
}

int main(void)
{
    test_ends();
    test_refused();
    test_long_lines();
    test_pipe();
    test_aligned();
    return check_report();
}
