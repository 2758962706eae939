/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts as bags of words, for baselines. Words are what white space separates, in lower case; a character of
 * punctuation and a symbol are words of their own.
 *
 * A text has the feature of each of its words, once, with the value 1. A pair has three features for each
 * word, of which it has the one that says where the word is: in the first text alone, in the second alone, or
 * in both. It also has WORD_OVERLAPS features of what the texts share, of all their words, in the vocabulary
 * or not. With the sets of words A and B, of pairs of neighbouring words A₂ and B₂, and 0 / 0 = 0:
 *
 *     |A ∩ B| / |A ∪ B|      |A ∩ B| / |A|      |A ∩ B| / |B|
 *     |A₂ ∩ B₂| / |A₂ ∪ B₂|  |log((1 + |A|) / (1 + |B|))|
 */
#ifndef ROTARY_SCORE_BASELINE_WORD_FEATURES_H
#define ROTARY_SCORE_BASELINE_WORD_FEATURES_H

#include "score/baseline/linear_model.h"
#include "text/text_lines.h"

enum { WORD_OVERLAPS = 5 };

/* Texts, or pairs of them; borrowed. What is not UTF-8 reads as U+FFFD. */
struct word_texts {
    int64_t count;
    const struct text_line *first;  /* [count] */
    const struct text_line *second; /* [count]; NULL: single texts */
};

struct word_vocabulary {
    uint64_t *words; /* [count]: hashes, sorted. Two words with the same hash of 64 bits are one */
    int64_t count;
};

/* The words that occur in at least `min_texts` of the texts; the two of a pair are two texts. */
ROTARY_CHECKED rotary_status word_vocabulary_create(struct word_vocabulary *vocabulary,
                                                    const struct word_texts *texts, int64_t min_texts,
                                                    rotary_error *error);
void word_vocabulary_free(struct word_vocabulary *vocabulary); /* zeroed ones too */

/* The features of the texts, a row for each: as many columns as there are words, or for pairs three times as
 * many and WORD_OVERLAPS. The caller frees *rows. */
ROTARY_CHECKED rotary_status word_features(struct feature_rows *rows,
                                           const struct word_vocabulary *vocabulary,
                                           const struct word_texts *texts, rotary_error *error);

#endif
