/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact match: an answer is correct if it is the reference, byte for byte. There is no normalisation of case,
 * white space or punctuation.
 */
#ifndef ROTARY_SCORE_EXACT_MATCH_H
#define ROTARY_SCORE_EXACT_MATCH_H

#include <stdbool.h>

/* Both are zero-terminated. No answer at all, which is an empty one, never matches. */
bool exact_match(const char *answer, const char *reference);

#endif
