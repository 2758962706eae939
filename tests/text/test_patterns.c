/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions mean what they mean to Oniguruma.
 */
#include "support/check.h"
#include "text/tokenizer_json/pattern.h"

#include <string.h>

static int64_t find_in(const char *expression, const char *text)
{
    struct pattern *pattern = NULL;
    int64_t begin = -2, end;
    if (!CHECK_INT(pattern_create(&pattern, expression, NULL), ROTARY_OK))
        return begin;
    struct pattern_search *search = pattern_search_create(pattern);
    CHECK(search && pattern_find(search, text, (int64_t)strlen(text), 0, &begin, &end, NULL) == ROTARY_OK);
    pattern_search_destroy(search);
    pattern_destroy(pattern);
    return begin;
}

/* What Oniguruma means by white space and words: U+0085, but not U+180E; marks and connectors. */
static void test_expressions(void)
{
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    CHECK_INT(find_in("\\s", "a\xe1\xa0\x8e\xc2\x85"), 4);
    CHECK_INT(find_in("[^\\s]", "\xc2\x85\xe1\xa0\x8e"), 2);
    CHECK_INT(find_in("\\w", "!\xcc\x81"), 1);
    CHECK_INT(find_in("[\\w]", "!\xe2\x80\xbf"), 1);
    CHECK_INT(find_in("\\W", "\xe2\x80\xbf-"), 3);
    CHECK_INT(find_in("\\d", "\xc2\xb2\xd9\xa3"), 2);
    CHECK_INT(find_in("b+\\z", "bab"), 2);
    CHECK_INT(find_in("ab{1,2}?b", "abb"), 0);
}

/* A script is the property Script, which U+3001 (in the extensions of seven) and marks of all scripts do not have. */
static void test_scripts(void)
{
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    static const struct {
        const char *expression, *text;
        int64_t begin;
    } cases[] = {
        {"\\p{Han}", "\xe3\x80\x81\xe4\xb8\xad", 3},
        {"\\p{han}", "\xe3\x80\x81\xe4\xb8\xad", 3},
        {"[a\\p{Han}]", "\xe3\x80\x81\xe4\xb8\xad", 3},
        {"\\P{Han}", "\xe4\xb8\xad\xe3\x80\x81", 3},
        {"\\p{^Han}", "\xe4\xb8\xad\xe3\x80\x81", 3},
        {"\\p{Katakana}", "\xe3\x83\xbc\xe3\x82\xa2", 3},
        {"\\p{Arabic}", "\xd8\x8c\xd8\xa7", 2},
        {"\\p{L}\\p{Nd}", "-a1", 1},
        {"\\p{white space}", "a ", 1},
        {"\\p{^Lu}", "Aa", 1},
        {"\\p{Alphabetic}", "1a", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_about("%s", cases[i].expression);
        CHECK_INT(find_in(cases[i].expression, cases[i].text), cases[i].begin);
    }
}

int main(void)
{
    test_expressions();
    test_scripts();
    return check_report();
}
