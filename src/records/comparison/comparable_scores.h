/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the scores of runs may be set beside each other at all. (records/comparison/comparable_runs.h asks
 * whether what the runs were made with is alike but for what is compared.)
 *
 * A loss per token depends on what a token is: across vocabularies only bits per byte compare. Scores of a
 * test set do not compare with those of a validation set, nor BLEU with BLEU that is computed in another way.
 */
#ifndef ROTARY_RECORDS_COMPARISON_COMPARABLE_SCORES_H
#define ROTARY_RECORDS_COMPARISON_COMPARABLE_SCORES_H

#include "records/records.h"

struct comparable {
    const struct record *records;
    int record_count;
    enum scoring scoring;
    enum measure measures[MEASURES]; /* the primary one first */
    int measure_count;
    bool vocabularies_differ; /* set: losses per token are none of the measures */
    char *fault;              /* set: why the scores of the runs do not compare, a sentence without its full
                                 stop, which the caller frees; NULL: they do */
};

/* Where the records are of models with other vocabularies, takes losses per token out of the measures, whose
 * primary one becomes bits per byte if every finished run has them. Vocabularies are other by the hash of
 * their contents (train/folder/vocabulary.h), or by their sizes where an earlier version recorded none. */
ROTARY_CHECKED rotary_status comparable_scores_check(struct comparable *comparable, rotary_error *error);

#endif
