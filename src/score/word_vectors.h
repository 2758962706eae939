/* SPDX-License-Identifier: Apache-2.0
 *
 * How alike two texts are by averaged word embeddings that are learned from training texts alone:
 *
 * - Words are those of BERT (text/bert_words.h), in lower case, so that a Chinese character is one. The
 * vocabulary has the max_words most frequent of those that occur twice.
 * - c(u, v): how often v is one of the `window` words before or behind u in a text; c(u) = Σ c(u, v), N = Σ
 * c(u). M(u, v) = max(0, ln(c(u, v) N / (c(u) c(v))))                      positive pointwise mutual
 * information embeddings E = U √S of the largest `dimension` singular values of M = U S Vᵀ (Levy, Goldberg
 * and Dagan, "Improving Distributional Similarity with Lessons Learned from Word Embeddings", 2015.)
 * - A text is the mean of a / (a + p(u)) E(u) over its words in the vocabulary, where p(u) is the share of u
 * in all words of the training texts, without its component in the first singular direction of the vectors of
 * the training texts (Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings",
 * 2017).
 * - similarity = the cosine of two texts; 0 where one has none of these words.
 */
#ifndef ROTARY_SCORE_WORD_VECTORS_H
#define ROTARY_SCORE_WORD_VECTORS_H

#include "text/text_lines.h"

struct word_vectors_config {
    int64_t max_words, window, dimension;
    int iterations; /* score/symmetric_factors.h */
    double a;
};
void word_vectors_config_default(struct word_vectors_config *config); /* 6000, 5, 100; 10; 0.001 */

struct word_vectors {
    int64_t count, dimension;
    uint64_t *words; /* [count]: hashes, ascending. Two words with the same hash of 64 bits are one */
    double *vectors; /* [count][dimension]: weighted, a / (a + p(u)) E(u) */
    double *common;  /* [dimension]: the direction that texts have no component in */
};

/* Of valid UTF-8 texts. ROTARY_OUT_OF_MEMORY. */
ROTARY_CHECKED rotary_status word_vectors_create(struct word_vectors *vectors, const struct text_line *texts,
                                                 int64_t count, const struct word_vectors_config *config,
                                                 rotary_error *error);
void word_vectors_free(struct word_vectors *vectors); /* zeroed ones too */

/* As tfidf_choose (score/tfidf.h). */
ROTARY_CHECKED rotary_status word_vectors_choose(const struct word_vectors *vectors,
                                                 const struct text_line *text, const struct text_line *texts,
                                                 int count, double *similarities, int32_t *chosen,
                                                 rotary_error *error);

#endif
