/* SPDX-License-Identifier: Apache-2.0
 *
 * What learns: a task, a model, and one step of training. It knows nothing of folders, logs and checkpoints.
 */
#ifndef ROTARY_TRAIN_TRAINER_H
#define ROTARY_TRAIN_TRAINER_H

#include "train/batch.h"
#include "train/optimizer.h"
#include "train/run.h"
#include "train/schedule.h"

struct trainer {
    const struct run_config *config; /* borrowed, checked */
    const struct compute *compute;   /* borrowed */
    struct task *task;
    struct decoder *decoder;
    struct batch batch;
    struct schedule schedule;
    struct optimizer optimizer;
    struct rotary_arena arena;
};

/* A model with initial weights and everything a step needs. Refuses, with both numbers, what does not fit
 * into memory. */
ROTARY_CHECKED rotary_status trainer_create(struct trainer *trainer, const struct run_config *config,
                                            const struct compute *compute, rotary_error *error);
/* Fine on one that is all zero. */
void trainer_destroy(struct trainer *trainer);

struct trainer_step {
    struct loss_sums loss; /* summed over the step's micro-batches */
    double learning_rate, gradient_norm;
    bool diverged; /* loss or norm is not finite: nothing was changed */
};

/* Step `step`, counted from 1: data, forward, backward, clipping, update. Allocates nothing once every shape
 * has been seen. */
ROTARY_CHECKED rotary_status trainer_step(struct trainer *trainer, int64_t step, struct trainer_step *result,
                                          rotary_error *error);

#endif
