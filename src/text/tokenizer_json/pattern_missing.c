/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands for PCRE2 in a program that was built without it.
 */
#include "base/fail.h"
#include "text/tokenizer_json/pattern.h"

#include <stddef.h>

rotary_status pattern_create(struct pattern **pattern, const char *expression, rotary_error *error)
{
    (void)pattern;
    (void)expression;
    return rotary_fail(error, ROTARY_UNSUPPORTED,
                       "this program was built without PCRE2, which splits text by a regular expression: "
                       "install libpcre2-dev (the name of a Debian package), and build it again");
}

const char *pattern_library(char text[PATTERN_LIBRARY_BYTES])
{
    (void)text;
    return NULL;
}

/* There is no pattern that these could be called with. */

void pattern_destroy(struct pattern *pattern)
{
    (void)pattern;
}

struct pattern_search *pattern_search_create(const struct pattern *pattern)
{
    (void)pattern;
    return NULL;
}

void pattern_search_destroy(struct pattern_search *search)
{
    (void)search;
}

rotary_status pattern_find(struct pattern_search *search, const char *text, int64_t bytes, int64_t from,
                           int64_t *begin, int64_t *end, rotary_error *error)
{
    (void)search;
    (void)text;
    (void)bytes;
    (void)from;
    *begin = *end = -1;
    return rotary_fail(error, ROTARY_UNSUPPORTED, "this program was built without PCRE2");
}
