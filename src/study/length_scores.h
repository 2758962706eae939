/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of one model at several lengths of sequences.
 */
#ifndef ROTARY_STUDY_LENGTH_SCORES_H
#define ROTARY_STUDY_LENGTH_SCORES_H

#include "records/record_lengths.h"
#include "study/length_run.h"

enum { MAX_LENGTHS = 16, MAX_WANTED = MAX_LENGTHS * LENGTH_SCALINGS };

struct length_score {
    struct length_wanted wanted;
    double factor;
    bool possible; /* false: nothing was evaluated */
    struct evaluation evaluation;
};
struct length_scores {
    int count;
    int64_t trained;                       /* tokens of a sequence in training */
    struct length_score items[MAX_WANTED]; /* in the order in which they are wanted */
};

/* Evaluates all that is wanted; `call` has the rest. */
ROTARY_CHECKED rotary_status length_scores_run(struct length_scores *scores, const struct length_call *call,
                                               rotary_error *error);
/* The scores as records have them; record_lengths_free frees them, also after an error. */
ROTARY_CHECKED rotary_status length_scores_record(const struct length_scores *scores,
                                                  struct record_lengths *records, rotary_error *error);

#endif
