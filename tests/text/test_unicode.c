/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties and case of characters, against Python's for every character that its version of Unicode has.
 */
#include "support/check.h"
#include "text/unicode.h"
#include "text/unicode_goldens.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 0x110000, TEXT_BYTES = 256 };

static char class_of(uint32_t point)
{
    if (unicode_is_space(point))
        return 's';
    if (unicode_is_number(point))
        return 'N';
    if (unicode_is_punctuation(point))
        return 'P';
    return unicode_is_symbol(point) ? 'S' : '.';
}

/* Python's lower case of a character that is one character. */
static uint32_t lower_of(uint32_t point)
{
    for (size_t i = 0; i < sizeof golden_lower / sizeof golden_lower[0]; i++)
        if (point >= golden_lower[i].first && point <= golden_lower[i].last &&
            (point - golden_lower[i].first) % (uint32_t)golden_lower[i].step == 0)
            return (uint32_t)((int64_t)point + golden_lower[i].difference);
    return point;
}

static void check_point(uint32_t point, char wanted, int *wrong)
{
    uint32_t lower[UNICODE_LOWER_MAX];
    int64_t count = unicode_lower(&point, 1, lower);
    bool good = class_of(point) == wanted;
    if (point == 0x130) /* the one character with two */
        good = good && count == 2 && lower[0] == 'i' && lower[1] == 0x307;
    else
        good = good && count == 1 && lower[0] == lower_of(point);
    if (good || ++*wrong > 10)
        return;
    check_about("U+%04X, class %c", (unsigned)point, wanted);
    CHECK_INT(class_of(point), wanted);
    CHECK_INT(count > 0 ? lower[0] : 0, lower_of(point));
}

static void test_points(void)
{
    uint32_t point = 0;
    int wrong = 0;
    for (const char *run = golden_classes; *run;) {
        char class = *run++, *end;
        long length = strtol(run, &end, 10);
        run = end;
        for (long i = 0; i < length; i++, point++)
            if (class != '-')
                check_point(point, class, &wrong);
    }
    check_about("%s", "");
    CHECK_INT(point, POINTS);
    CHECK_INT(wrong, 0);
}

static void test_words(void)
{
    for (size_t i = 0; i < sizeof golden_words / sizeof golden_words[0]; i++) {
        char *lower = NULL;
        int64_t bytes = -1;
        rotary_error error = {0};
        check_about("%s", golden_words[i].text);
        CHECK_INT(unicode_lowercase(golden_words[i].text, (int64_t)strlen(golden_words[i].text), &lower,
                                    &bytes, &error),
                  ROTARY_OK);
        CHECK_TEXT(lower, golden_words[i].lower);
        CHECK_INT(bytes, (int64_t)strlen(golden_words[i].lower));
        free(lower);
    }
    char *lower = NULL;
    int64_t bytes = -1;
    CHECK_INT(unicode_lowercase("", 0, &lower, &bytes, NULL), ROTARY_OK);
    CHECK_TEXT(lower, "");
    free(lower);
}

static void test_decoding(void)
{
    for (size_t i = 0; i < sizeof golden_decoded / sizeof golden_decoded[0]; i++) {
        const char *bytes = golden_decoded[i].bytes;
        uint32_t points[TEXT_BYTES];
        char text[4 * TEXT_BYTES + 1];
        int64_t count = unicode_decode(bytes, (int64_t)strlen(bytes), points);
        text[unicode_encode(points, count, text)] = 0;
        check_about("text %d", (int)i);
        CHECK_TEXT(text, golden_decoded[i].text);
    }
    const uint32_t wrong[] = {0xd800, 0x110000, 'a'};
    char text[13];
    text[unicode_encode(wrong, 3, text)] = 0;
    CHECK_TEXT(text, "\357\277\275\357\277\275a");
}

static void test_trimming(void)
{
    static const struct {
        const char *text;
        int64_t wanted;
    } cases[] = {{"", 0},
                 {"a", 1},
                 {" ", 0},
                 {"a \t\r\n\f\v", 1},
                 {" a\302\240", 2},
                 {"a\302\205", 1},
                 {"a\034\037", 1},
                 {"a\342\200\213", 4},
                 {"a\343\200\200 ", 1},
                 {"\302\240\342\200\251", 0},
                 {"a\357\273\277", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("text %d", (int)i);
        CHECK_INT(unicode_trimmed(cases[i].text, (int64_t)strlen(cases[i].text)), cases[i].wanted);
    }
}

int main(void)
{
    test_points();
    test_words();
    test_decoding();
    test_trimming();
    return check_report();
}
