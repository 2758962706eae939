/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties and case of Unicode's code points, as libunistring has them. Its version decides the version of
 * Unicode: 1.0 has 14.0, 1.1 has 15.0, 1.3 has 16.0.
 */
#ifndef ROTARY_TEXT_UNICODE_H
#define ROTARY_TEXT_UNICODE_H

#include <rotary/status.h>

enum { UNICODE_REPLACEMENT = 0xfffd };

/* The code points of UTF-8. What is not UTF-8 is UNICODE_REPLACEMENT, one for each longest run of bytes that
 * begins a sequence, or else for each byte. `points` has room for `bytes`; returns how many there are. */
int64_t unicode_decode(const char *text, int64_t bytes, uint32_t *points);
/* The UTF-8 of `count` code points, without a zero byte. `text` has room for 4 bytes each; returns how many
 * bytes there are. What is no code point is written as UNICODE_REPLACEMENT. */
int64_t unicode_encode(const uint32_t *points, int64_t count, char *text);

/* Python's str.isspace: white space, by bidirectional class or category. Zero-width spaces are none. */
bool unicode_is_space(uint32_t point);
/* The bytes of UTF-8 text without the white space at its end. */
int64_t unicode_trimmed(const char *text, int64_t bytes);
/* The general categories N, P and S. */
bool unicode_is_number(uint32_t point);
bool unicode_is_punctuation(uint32_t point);
bool unicode_is_symbol(uint32_t point);
/* The categories Cc, Cf and Co: control characters, characters of format, private use. */
bool unicode_is_control(uint32_t point);
bool unicode_is_nonspacing_mark(uint32_t point); /* the category Mn */
bool unicode_is_mark(uint32_t point);            /* the categories Mn, Mc and Me */
/* The property White_Space, which unicode_is_space has and U+001C to U+001F have not. */
bool unicode_is_white_space(uint32_t point);
/* \w of Unicode's regular expressions (UTS #18): letters, marks, digits, connectors, joiners. */
bool unicode_is_word(uint32_t point);

/* The canonical decomposition of a code point, complete but for the order of marks; itself, if it has none.
 * `parts` has room for UNICODE_PARTS_MAX; returns how many there are. */
enum { UNICODE_PARTS_MAX = 8 };
int unicode_decompose(uint32_t point, uint32_t parts[UNICODE_PARTS_MAX]);
/* The canonical combining class, 0 to 254; marks that follow each other are ordered by it in NFD. */
int unicode_combining_class(uint32_t point);

/* The lower case of `count` code points by Unicode's full mappings, of no language in particular, with the
 * final sigma (Python's str.lower). `lower` has room for UNICODE_LOWER_MAX * count; returns how many there
 * are. */
enum { UNICODE_LOWER_MAX = 2 };
int64_t unicode_lower(const uint32_t *points, int64_t count, uint32_t *lower);
/* Maps likewise, each by itself: a final sigma is one like any other. */
int64_t unicode_lower_each(const uint32_t *points, int64_t count, uint32_t *lower);
/* Maps UTF-8 likewise: *lower has *lower_bytes bytes and a zero byte after them; the caller frees it. */
ROTARY_CHECKED rotary_status unicode_lowercase(const char *text, int64_t bytes, char **lower,
                                               int64_t *lower_bytes, rotary_error *error);

/* The normal forms of Unicode (UAX #15). */
enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };
/* A normal form of UTF-8 text: *normal has *normal_bytes bytes; the caller frees it. */
ROTARY_CHECKED rotary_status unicode_normalize(enum unicode_form form, const char *text, int64_t bytes,
                                               char **normal, int64_t *normal_bytes, rotary_error *error);

/* The text with U+FFFD for what is not UTF-8: one for bytes that more would have completed, and one for each
 * other byte, as Python's decode("utf-8", "replace") has it. The caller frees *mended, of *count bytes and a
 * zero byte. ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status unicode_mend(const char *text, int64_t bytes, char **mended, int64_t *count,
                                          rotary_error *error);
/* The bytes, 0 to 3, at the end of a text that more bytes would complete to a character. */
int64_t unicode_incomplete_bytes(const char *text, int64_t bytes);

/* The bytes of the extended grapheme cluster (UAX #29) that UTF-8 text of `bytes` > 0 bytes begins with. */
int64_t unicode_grapheme_bytes(const char *text, int64_t bytes);

/* The version of libunistring, "1.0.0". */
enum { UNICODE_LIBRARY_BYTES = 24 };
const char *unicode_library(char text[UNICODE_LIBRARY_BYTES]);

#endif
