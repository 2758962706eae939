/* SPDX-License-Identifier: Apache-2.0
 *
 * How far scores of the same segments may be trusted: bootstrap resampling (Koehn, "Statistical significance
 * tests for machine translation evaluation", EMNLP 2004) and approximate randomization (Riezler and Maxwell,
 * "On some pitfalls in automatic evaluation and significance testing for MT", 2005), paired, as
 * sacreBLEU 2.6.0 defines both.
 *
 * A bootstrap sample has as many segments as the corpus, drawn from it with replacement, the same for all
 * systems. A trial swaps the translations of two systems with a chance of one half, segment by segment. What
 * is drawn follows from seed and sample: it depends on nothing else, threads included.
 */
#ifndef ROTARY_SCORE_RESAMPLING_H
#define ROTARY_SCORE_RESAMPLING_H

#include "score/translation/segments.h"

struct resampling {
    struct segment_metric metric;
    int64_t segments;           /* 1 ... 2^32 - 1 */
    int systems;                /* the first is the baseline */
    const int64_t *const *rows; /* [systems][segments][metric.width] */
    /* Instead of metric and rows, of what is no function of sums: the score of a system on the segments
     * `chosen`, called from all threads. NULL: metric and rows. */
    double (*score)(const void *context, int system, const uint32_t *chosen);
    const void *context;
    int64_t samples; /* at least 1, at most 2^32 */
    int64_t seed;
    int threads; /* 0: every processor */
};

/* One system has these. */
struct resampled {
    double score;
    double mean, interval; /* of the bootstrap samples: 95% of them are within mean ± interval; else NaN */
    double p;              /* that the difference from the baseline is chance; NaN of the baseline */
};

/* Mean and interval of every system, and p of all but the baseline:
 *
 *     p = (1 + #{samples: |d| - mean |d| > |D|}) / (1 + samples),
 *
 * d: the differences in the samples, D: the difference in the corpus. The interval is half the distance of
 * the samples' scores at places samples / 40 from either end. Fills results[systems]. */
ROTARY_CHECKED rotary_status resample_bootstrap(const struct resampling *resampling,
                                                struct resampled *results, rotary_error *error);
/* The scores of all systems in the samples, [systems][samples], which the caller frees. */
ROTARY_CHECKED rotary_status resample_scores(const struct resampling *resampling, double **scores,
                                             rotary_error *error);
/* p of all systems but the baseline, which must be there: p = (1 + #{trials: |d| > |D|}) / (1 + trials),
 * two-sided. */
ROTARY_CHECKED rotary_status resample_trials(const struct resampling *resampling, struct resampled *results,
                                             rotary_error *error);

/* The mean difference of pairs of systems, such as two arms from several seeds. */
struct resampled_pairs {
    const double *scores;           /* [systems][samples], of resample_scores */
    const double *corpus;           /* [systems]: the score of the corpus */
    int count;                      /* at least 1 */
    const int *systems, *baselines; /* [count] */
};
struct resampled_difference {
    double mean;      /* D: of the corpus, over the pairs. NaN, as is all else, if a score of it is */
    double low, high; /* d, the same in a sample, is between them in 95% of the samples: at places samples /
                         40 from either end */
    double p;         /* (1 + #{samples: |d - D| >= |D|}) / (1 + samples): two-sided, as the interval is.
                         sacreBLEU's, above, counts one side alone where the difference is large. */
};
ROTARY_CHECKED rotary_status resample_difference_of(const struct resampled_pairs *pairs, int64_t samples,
                                                    struct resampled_difference *difference,
                                                    rotary_error *error);

/* The scores alone: mean, interval and p are NaN. */
void resample_none(const struct resampling *resampling, struct resampled *results);

/* What both draw from: the score of `system` on the segments `chosen`, as many as the corpus has. */
double resample_score(const struct resampling *resampling, int system, const uint32_t *chosen);
/* The baseline's score less that of `system` where bit i % 32 of swapped[i / 32] says that segment i is
 * swapped. */
double resample_difference(const struct resampling *resampling, int system, const uint32_t *swapped);
/* Mean, interval and p from the scores of samples [systems][samples], which are sorted; p from the
 * differences of trials [systems][samples], of which those of the baseline are not read. */
void resample_summary(const struct resampling *resampling, double *scores, struct resampled *results);
void resample_trials_summary(const struct resampling *resampling, const double *differences,
                             struct resampled *results);

#endif
