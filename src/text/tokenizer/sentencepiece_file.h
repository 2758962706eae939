/* SPDX-License-Identifier: Apache-2.0
 *
 * What a .model file must be before the library reads it. The library trusts parts of it: the table of its
 * normaliser is a trie that is walked without bounds, and the matches of one place go into arrays of fixed
 * size. So a damaged file could make it read what is not its own.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_FILE_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_FILE_H

#include <rotary/status.h>

enum { SENTENCEPIECE_FILE_BYTES = 64 << 20, SENTENCEPIECE_MAX_PIECES = 1 << 20 };

/* Whether the bytes look like a model rather than like JSON. */
bool sentencepiece_is_file(const char *bytes, int64_t count);
/* ROTARY_BAD_FILE, with `path`, if the file is no message of protocol buffers, has more than
 * SENTENCEPIECE_MAX_PIECES pieces or none, one that is empty or no UTF-8 text, a score that is no number,
 * user-defined pieces that are prefixes of one another beyond what the library has room for, or a table that
 * is walked beyond its end. */
ROTARY_CHECKED rotary_status sentencepiece_check_file(const char *path, const char *bytes, int64_t count,
                                                      rotary_error *error);

#endif
