/* SPDX-License-Identifier: Apache-2.0
 *
 * An evaluation of a run, as its configuration has it. The last one predicts the test set too if there is one.
 */
#ifndef ROTARY_TRAIN_EVALUATION_RUN_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_RUN_EVALUATION_H

#include "train/evaluation/scores.h"
#include "train/run.h"

struct run_evaluation {
    const struct run_config *config;
    const struct ranks *ranks;      /* that evaluate together, as in evaluation_config */
    const char *folder;             /* which gets the predictions of the last one */
    const atomic_bool *interrupted; /* as in evaluation_config */
    bool last;
};

/* evaluation_run; the last one takes the test set too, translates all sentences, and keeps the predictions. */
ROTARY_CHECKED rotary_status run_evaluation(const struct run_evaluation *how, const struct task *task,
                                            struct transformer *transformer, struct evaluation *evaluation,
                                            rotary_error *error);

#endif
