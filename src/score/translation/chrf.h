/* SPDX-License-Identifier: Apache-2.0
 *
 * chrF (Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015) and chrF++ (Popović,
 * "chrF++: words helping character n-grams", WMT 2017) as sacreBLEU 2.6.0 defines them:
 *
 *     chrF = 100 (1 + beta^2) P R / (beta^2 P + R)
 *
 * P, R: precision and recall of n-grams of 1 ... char_order characters and of 1 ... word_order words, each
 * the mean over the lengths n that translations and references both have. Of several references a segment's
 * is the one with the best score.
 */
#ifndef ROTARY_SCORE_TRANSLATION_CHRF_H
#define ROTARY_SCORE_TRANSLATION_CHRF_H

#include "score/translation/segments.h"

enum { CHRF_MAX_CHAR_ORDER = 12, CHRF_MAX_WORD_ORDER = 8 };

struct chrf_config {
    int char_order; /* 0 ... CHRF_MAX_CHAR_ORDER */
    int word_order; /* 0 ... CHRF_MAX_WORD_ORDER: 0 of chrF, 2 of chrF++; not 0 if char_order is */
    int beta;       /* recall counts beta^2 times as much as precision */
    bool lowercase;
    bool whitespace;    /* white space is a character too; else there is none between words */
    bool eps_smoothing; /* the mean is over the F-scores of all lengths, a length that is not there having
                           1e-16 (chrF++.py, NLTK, Moses) */
};
/* chrF2: 6 characters, no words, beta 2, all else false. */
void chrf_config_default(struct chrf_config *config);

/* The statistics of a segment: for every length, characters first, the n-grams of the translation (0 if the
 * reference has none), those of the reference, and those that match. */
int chrf_width(const struct chrf_config *config);
/* Fills statistics[count][chrf_width]. */
ROTARY_CHECKED rotary_status chrf_count(const struct chrf_config *config, const struct segment_corpus *corpus,
                                        int64_t *statistics, rotary_error *error);
/* The score of sums of statistics, 0 ... 100. */
double chrf_of(const struct chrf_config *config, const int64_t *sums);
/* chrF for resampling; `config` is borrowed. */
struct segment_metric chrf_metric(const struct chrf_config *config);

/* "chrF2", "chrF2++": with a plus for each length of words. */
enum { CHRF_NAME_BYTES = 32 };
const char *chrf_name(const struct chrf_config *config, char text[CHRF_NAME_BYTES]);
/* "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0+rotary.0.1.0"; `sampling` may be NULL. */
const char *chrf_signature(const struct chrf_config *config, int reference_count,
                           const struct segment_sampling *sampling, char text[SIGNATURE_BYTES]);

#endif
