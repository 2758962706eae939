/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the scores of runs may be set beside each other at all. (study/alike.h asks whether what the runs
 * were made with is alike but for what is compared.)
 *
 * A loss per token depends on what a token is: across vocabularies only bits per byte compare. Scores of a
 * test set do not compare with those of a validation set, nor BLEU with BLEU that is computed in another way.
 */
#ifndef ROTARY_STUDY_COMPARABLE_H
#define ROTARY_STUDY_COMPARABLE_H

#include "study/comparison.h"

/* Whether two of the records are of models with other vocabularies: by the hash of their contents
 * (train/vocabulary.h), or by their sizes where an earlier version recorded none. */
bool comparable_vocabularies(const struct record *records, int count);

/* Where the vocabularies differ, takes losses per token out of the comparison's measures, whose primary one
 * becomes bits per byte if every finished run has them. Where the scores of the primary measure do not
 * compare, sets comparison->incomparable, which the caller frees, to why: a sentence without its full stop.
 */
ROTARY_CHECKED rotary_status comparable_measures(struct comparison *comparison, rotary_error *error);

#endif
