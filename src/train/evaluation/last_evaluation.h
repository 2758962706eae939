/* SPDX-License-Identifier: Apache-2.0
 *
 * The last evaluation of a run.
 */
#ifndef ROTARY_TRAIN_EVALUATION_LAST_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_LAST_EVALUATION_H

#include "train/evaluation/scores.h"

/* evaluation_run that also takes the test set if there is one, and translates all sentences; the folder keeps
 * the predictions. */
ROTARY_CHECKED rotary_status evaluation_run_last(const struct task *task, struct transformer *transformer,
                                                 const struct evaluation_config *how, const char *folder,
                                                 struct evaluation *evaluation, rotary_error *error);

#endif
