/* SPDX-License-Identifier: Apache-2.0
 *
 * The differences of a contrast over the examples that its runs were scored on, by the paired bootstrap
 * (score/resampling.h): what these very models would give on other examples.
 */
#ifndef ROTARY_RECORDS_COMPARISON_RESAMPLED_CONTRAST_H
#define ROTARY_RECORDS_COMPARISON_RESAMPLED_CONTRAST_H

#include "records/comparison/comparison.h"
#include "score/resampling.h"

/* An arm minus its baseline. */
struct resampled_contrast {
    /* Says for each pair of the contrast what these two models would give on other examples. */
    struct resampled_difference *pairs; /* [pair_count], NaN where a run diverged; the caller frees it */
    /* The mean over the pairs, whose answers to an example are drawn together: what other examples would
     * change of the mean difference of these runs. It says nothing of other seeds; the interval over seeds
     * does, and nothing of other examples. */
    struct resampled_difference mean; /* NaN without pairs */
};

/* The runs that were resampled. */
struct resampled_runs {
    int64_t samples;
    const int *of_record; /* [records]: the system that a run is */
    const double *corpus; /* [systems]: the score of the whole */
    const double *scores; /* [systems][samples], of resample_scores */
};

ROTARY_CHECKED rotary_status resampled_contrast_find(struct resampled_contrast *found,
                                                     const struct contrast *contrast,
                                                     const struct resampled_runs *runs, rotary_error *error);
/* Predictions that cannot be read, or are not of these examples, are no error of a comparison: `fault`
 * becomes what it says in their place, *kept, which the caller frees. Other statuses are returned as they
 * are. */
ROTARY_CHECKED rotary_status resampled_keep_fault(rotary_status status, const rotary_error *fault,
                                                  char **kept);

#endif
