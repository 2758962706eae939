/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicting the labels of a split, and scoring them.
 */
#ifndef ROTARY_TRAIN_EVALUATION_LABEL_PREDICTIONS_H
#define ROTARY_TRAIN_EVALUATION_LABEL_PREDICTIONS_H

#include "score/token_scores.h"
#include "train/batches.h"
#include "train/evaluation/scores.h"

struct label_call {
    const struct task *task; /* it has labels, and examples of the split */
    struct transformer *transformer;
    enum task_split split;
    const struct batch_memory *memory; /* of batches of ... */
    int64_t tokens;                    /* ... so many tokens */
    const char *file;                  /* replaced by the predictions (label_predictions_run); NULL: none */
    const atomic_bool *interrupted;    /* may be NULL */
    const struct ranks *ranks;         /* as in evaluation_config: rank 0 has the scores */
};

/* Predicts every example, in the order of the corpus. Sets the scores, and adds the losses to `sums`: of a
 * class the cross-entropy, in nats, of a number the squared error; an example is a target, which is correct
 * if its class is predicted. The file has a line for each example, after one with the names of its columns,
 * which tabs separate: its index from 0, the label, the prediction, and of classes the probability of each;
 * with choices, classes are these.
 */
ROTARY_CHECKED rotary_status label_predictions_run(const struct label_call *call, struct label_scores *scores,
                                                   struct token_sums *sums, rotary_error *error);

#endif
