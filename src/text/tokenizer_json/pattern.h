/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions, as tokenizers have them: written for the library Oniguruma, with Ruby's syntax, and
 * matched by PCRE2. In a program built without PCRE2 none can be made, and the message says what is missing.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_PATTERN_H
#define ROTARY_TEXT_TOKENIZER_JSON_PATTERN_H

#include <rotary/status.h>

struct pattern; /* never changes once made: any number of threads may share it */

/* ROTARY_INVALID_ARGUMENT if the expression is invalid, has something that both libraries understand in
 * different ways, or matches the empty text; ROTARY_UNSUPPORTED without PCRE2. */
ROTARY_CHECKED rotary_status pattern_create(struct pattern **pattern, const char *expression,
                                            rotary_error *error);
void pattern_destroy(struct pattern *pattern); /* NULL is allowed */

/* Memory for searches of one thread with one pattern; NULL without memory. */
struct pattern_search;
struct pattern_search *pattern_search_create(const struct pattern *pattern);
void pattern_search_destroy(struct pattern_search *search); /* NULL is allowed */

/* The first match that begins at `from` or behind it: its bytes are *begin ... *end - 1 of the text, which is
 * UTF-8 and of which all is looked at. *begin is -1 if there is none. ROTARY_UNSUPPORTED if the search takes
 * too long or too much memory. */
ROTARY_CHECKED rotary_status pattern_find(struct pattern_search *search, const char *text, int64_t bytes,
                                          int64_t from, int64_t *begin, int64_t *end, rotary_error *error);

/* The version of PCRE2, "10.42"; NULL: the program was built without it. */
enum { PATTERN_LIBRARY_BYTES = 24 };
const char *pattern_library(char text[PATTERN_LIBRARY_BYTES]);

/* What PCRE2 is given for an expression of Oniguruma: a text that the caller frees. `script` stands before the name of a
 * script in \p{...}. Errors are those of pattern_create. */
ROTARY_CHECKED rotary_status pattern_translate(const char *expression, const char *script, char **translated,
                                               rotary_error *error);

#endif
