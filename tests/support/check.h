/* SPDX-License-Identifier: Apache-2.0
 *
 * A small harness. A test is a program: it checks, counts what it compared, and its exit status is the
 * verdict: 0 passed, 1 failed, 77 skipped. A test that compared nothing fails.
 */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts a comparison. If it does not hold, prints its place and the wanted value. Returns `holds`. */
#define CHECK(holds) check_that((holds), #holds, __FILE__, __LINE__)
/* got == wanted for integers, for strings. */
#define CHECK_INT(got, wanted)  check_int((got), (wanted), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), #got, __FILE__, __LINE__)
/* The text contains all of `words`, which are separated by '|'. */
#define CHECK_WORDS(text, words) check_words((text), (words), __FILE__, __LINE__)
/* |got - wanted| <= bound; a NaN anywhere fails. */
#define CHECK_NEAR(got, wanted, bound) check_near((got), (wanted), (bound), #got, __FILE__, __LINE__)

bool check_that(bool holds, const char *text, const char *file, int line);
bool check_int(int64_t got, int64_t wanted, const char *text, const char *file, int line);
bool check_text(const char *got, const char *wanted, const char *text, const char *file, int line);
bool check_words(const char *text, const char *words, const char *file, int line);
bool check_near(double got, double wanted, double bound, const char *text, const char *file, int line);

/* Sets the subject of the following checks, which is printed before a failure. Copies the text. */
__attribute__((format(printf, 1, 2))) void check_about(const char *format, ...);

/* Prints the totals; main returns this. */
int check_report(void);
/* Prints why and exits 77. */
__attribute__((noreturn, format(printf, 1, 2))) void check_skip(const char *format, ...);

/* Signed, balanced values of wide range: a normal number times 2^u, u uniform in [-octaves, octaves].
 * A pure function of seed and index. */
float check_random(uint64_t seed, uint64_t index, int octaves);
#endif
