/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model of labels is compared with (score/baseline.h), on the texts of a task.
 */
#ifndef ROTARY_TRAIN_LABEL_BASELINES_H
#define ROTARY_TRAIN_LABEL_BASELINES_H

#include "score/label_scores.h"
#include "task/task.h"

struct label_baselines {
    struct label_scores majority; /* the most frequent class of training, or its mean number */
    struct label_scores words;    /* a linear model of the words of the training texts */
};

/* Scores both on a split of a task with labels, which has examples. */
ROTARY_CHECKED rotary_status label_baselines_run(const struct task *task, enum task_split split,
                                                 struct label_baselines *baselines, rotary_error *error);

#endif
