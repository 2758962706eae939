/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizers of BLEU. Each puts spaces into a text; tokens are then what white space separates.
 *
 *     13a    that of NIST's mteval-v13a: ASCII punctuation and symbols are tokens, except for ' and for a hyphen
 *            that follows no digit; periods and commas are tokens except between digits; the entities &quot;
 *            &amp; &lt; &gt; become characters, a hyphen at a line's end joins the lines, and <skipped> is
 *            removed
 *     intl   that of NIST's mteval-v14: Unicode's punctuation is tokens except between numbers, its symbols
 *            always
 *     char   every character is a token
 *     none   the text is left as it is
 */
#ifndef ROTARY_SCORE_TRANSLATION_BLEU_TOKENIZER_H
#define ROTARY_SCORE_TRANSLATION_BLEU_TOKENIZER_H

#include "score/points.h"

enum bleu_tokenizer { BLEU_13A, BLEU_INTL, BLEU_CHAR, BLEU_NONE, BLEU_TOKENIZERS };
extern const char *const bleu_tokenizer_names[]; /* "13a", "intl", "char", "none"; NULL-terminated */

/* Tokenizes `text`, whose white space at the end should be gone (points_trim). `scratch` is overwritten. */
ROTARY_CHECKED rotary_status bleu_tokenize(enum bleu_tokenizer tokenizer, struct points *text,
                                           struct points *scratch, rotary_error *error);

#endif
