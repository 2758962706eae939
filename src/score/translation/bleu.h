/* SPDX-License-Identifier: Apache-2.0
 *
 * BLEU (Papineni, Roukos, Ward, Zhu, "BLEU: a method for automatic evaluation of machine translation", ACL
 * 2002) as sacreBLEU 2.6.0 defines it (Post, "A call for clarity in reporting BLEU scores", WMT 2018):
 *
 *     BLEU = 100 BP exp(1/4 sum over n = 1 ... 4 of log p_n),  BP = min(1, exp(1 - r / h))
 *
 * p_n: the share of the translations' n-grams that are in a reference, each at most as often as in the
 * reference that has it most often; h: tokens of all translations; r: tokens of the references, of several
 * the one whose length is nearest, of two as near the shorter.
 */
#ifndef ROTARY_SCORE_TRANSLATION_BLEU_H
#define ROTARY_SCORE_TRANSLATION_BLEU_H

#include "score/translation/bleu_tokenizer.h"

/* What a precision is that has no match: half of the one before with one match, each time (exp: p_n = 1 /
 * (2^k total) for the k-th such n); `smoothing_value` matches (floor); or 0. add-k adds the value to matches
 * and totals of n > 1. (Chen and Cherry, "A systematic comparison of smoothing techniques for sentence-level
 * BLEU", WMT 2014.) */
enum bleu_smoothing { BLEU_EXP, BLEU_FLOOR, BLEU_ADD_K, BLEU_UNSMOOTHED, BLEU_SMOOTHINGS };
extern const char *const bleu_smoothing_names[]; /* "exp", "floor", "add-k", "none"; NULL-terminated */

struct bleu_config {
    enum bleu_tokenizer tokenizer;
    enum bleu_smoothing smoothing;
    double smoothing_value; /* of floor and add-k; bleu_smoothing_default */
    bool lowercase;
    bool effective_order; /* the mean is over the n-gram lengths that a translation has: for single sentences
                           */
};
/* 13a, exp, case kept, all four lengths. */
void bleu_config_default(struct bleu_config *config);
/* 0.1 of floor, 1 of add-k, 0 of the others. */
double bleu_smoothing_default(enum bleu_smoothing smoothing);

/* The statistics of a segment: its tokens, those of the nearest reference; then for n = 1 ... 4 its n-grams
 * that are in a reference, and all its n-grams. */
enum {
    BLEU_ORDER = 4,
    BLEU_HYPOTHESIS_LENGTH = 0,
    BLEU_REFERENCE_LENGTH = 1,
    BLEU_CORRECT = 2,
    BLEU_TOTAL = BLEU_CORRECT + BLEU_ORDER,
    BLEU_STATISTICS = BLEU_TOTAL + BLEU_ORDER
};
/* Fills statistics[count][BLEU_STATISTICS]. */
ROTARY_CHECKED rotary_status bleu_count(const struct bleu_config *config, const struct segment_corpus *corpus,
                                        int64_t *statistics, rotary_error *error);

struct bleu_score {
    double score;                  /* 0 ... 100 */
    double precisions[BLEU_ORDER]; /* in percent, smoothed */
    double brevity_penalty;
    double ratio; /* hypothesis_length / reference_length, 0 without references' tokens */
    int64_t hypothesis_length, reference_length;
};
/* The score of sums of statistics. */
struct bleu_score bleu_of(const struct bleu_config *config, const int64_t sums[BLEU_STATISTICS]);
/* The score of a corpus, 0 of an empty one. */
ROTARY_CHECKED rotary_status bleu_corpus(const struct bleu_config *config,
                                         const struct segment_corpus *corpus, struct bleu_score *score,
                                         rotary_error *error);
/* "73.6/48.7/36.0/26.3 (BP = 0.987 ratio = 0.987 hyp_len = 12050 ref_len = 12208)" */
enum { BLEU_TEXT_BYTES = 256 };
const char *bleu_text(const struct bleu_score *score, char text[BLEU_TEXT_BYTES]);
/* BLEU for resampling; `config` is borrowed. */
struct segment_metric bleu_metric(const struct bleu_config *config);

/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0+rotary.0.1.0"; `sampling` may be NULL. */
const char *bleu_signature(const struct bleu_config *config, int reference_count,
                           const struct segment_sampling *sampling, char text[SIGNATURE_BYTES]);

#endif
