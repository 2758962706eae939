/* SPDX-License-Identifier: Apache-2.0
 *
 * How alike two texts are, without a model: the cosine of their TF-IDF vectors over pairs of neighbouring
 * characters, which needs no words and so serves Chinese, as scikit-learn has it (TfidfVectorizer with
 * analyzer "char" and ngram_range (2, 2), without lower case):
 *
 *     idf(g) = ln((1 + n) / (1 + df(g))) + 1     of n texts of which df(g) have the pair g
 *     v(g) = count of g in the text · idf(g)     of the pairs that the n texts have
 *     similarity = a · b / (|a| |b|), and 0 where a text has none of these pairs
 */
#ifndef ROTARY_SCORE_BASELINE_TFIDF_H
#define ROTARY_SCORE_BASELINE_TFIDF_H

#include "text/text_lines.h"

/* Pairs of characters, each a number of 64 bits. */
struct tfidf {
    uint64_t *pairs; /* [count], ascending */
    double *idf;     /* [count] */
    int64_t count;
};

/* What is not UTF-8 reads as U+FFFD. */
ROTARY_CHECKED rotary_status tfidf_create(struct tfidf *tfidf, const struct text_line *texts, int64_t count,
                                          rotary_error *error);
void tfidf_free(struct tfidf *tfidf); /* zeroed ones too */

/* The index of the text, of `count` >= 1 ones, that is the most similar to `text`; of equally similar ones
 * the first. similarities[i]: of texts[i]. */
ROTARY_CHECKED rotary_status tfidf_choose(const struct tfidf *tfidf, const struct text_line *text,
                                          const struct text_line *texts, int count, double *similarities,
                                          int32_t *chosen, rotary_error *error);

#endif
