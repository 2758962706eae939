/* SPDX-License-Identifier: Apache-2.0
 *
 * The labels that the runs of a comparison predicted, example by example, beside what baselines predict
 * (task/classification/label_baselines.h): how far an arm is ahead of them, over seeds and, by the paired
 * bootstrap, over examples.
 *
 * Predictions are read from the predictions.tsv of each run, labels from the texts that its configuration
 * names, to which the baselines are fitted. A run whose score does not come out as its record says it was has
 * other predictions or other texts than it had.
 */
#ifndef ROTARY_RECORDS_EXAMPLE_SCORES_H
#define ROTARY_RECORDS_EXAMPLE_SCORES_H

#include "records/comparison/comparison.h"
#include "records/comparison/resampled_contrast.h"
#include "task/classification/label_baselines.h"

enum { EXAMPLE_SAMPLES = 1000, EXAMPLE_SEED = 1 }; /* of the bootstrap */

/* The mean of an arm's runs minus a baseline, which is the same for all of them. */
struct beside_baseline {
    struct paired_difference seeds;       /* what other seeds would give on these examples: 95% */
    struct resampled_difference examples; /* what these very models would give on other examples; NaN without
                                             runs */
};

struct example_scores {
    const struct comparison *comparison; /* borrowed */
    char *fault; /* why there are none, a sentence without its full stop; all else is zero then. NULL: nothing
                  */
    enum measure measure;                 /* the comparison's score of labels */
    const char *split;                    /* "test" or "validation" */
    int64_t count;                        /* examples; 0: no run has been scored */
    bool choices;                         /* which baselines they are: label_baseline_title */
    double baselines[LABEL_BASELINES];    /* as the measure has it; NaN: it has no such score */
    struct beside_baseline *beside;       /* [arms][LABEL_BASELINES] */
    struct resampled_contrast *contrasts; /* [contrasts of the comparison] */
};

/* Reads them for a comparison that is scored by labels. What cannot be read, or has changed, is no error but
 * a fault. The caller destroys *scores. */
ROTARY_CHECKED rotary_status example_scores_create(struct example_scores **scores,
                                                   const struct comparison *comparison, rotary_error *error);
void example_scores_destroy(struct example_scores *scores); /* NULL too */

#endif
