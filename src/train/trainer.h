/* SPDX-License-Identifier: Apache-2.0
 *
 * The trainer: a task, a model, and one step of training. Folders, metrics and checkpoints are in train.c.
 */
#ifndef ROTARY_TRAIN_TRAINER_H
#define ROTARY_TRAIN_TRAINER_H

#include "ranks/ranks.h"
#include "train/batches.h"
#include "train/folder/checkpoint.h"
#include "train/optimizer.h"
#include "train/rank_update.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/shard_sums.h"
#include "train/together.h"
#include "train/weights/lora.h"

/* The batches of a step. */
struct step_data {
    struct batch_memory *memory; /* [shards][gradient_accumulation_steps] */
    struct batch *batches;       /* likewise: of each shard those of its rows */
    struct batch_begin *begins;  /* likewise */
    void *first;                 /* of the memory, which has so many bytes */
    size_t bytes;
    int64_t step;                  /* 0: there is none yet */
    struct together_counts counts; /* of this rank */
};

struct trainer {
    const struct run_config *config; /* borrowed, checked */
    const struct backend *backend;   /* borrowed */
    struct task *task;
    struct transformer *transformer;
    struct lora *lora;            /* NULL: the model's own parameters are trained */
    struct unused_tensors unused; /* of what trainer_begin read: those of heads of other tasks */
    struct batch_size size;       /* of a micro-batch */
    int64_t shard_tokens;         /* the most that a shard of one has */
    int64_t shards, first_shard;  /* of this rank */
    struct step_data data[2]; /* of step s in data[s % 2]: where a device computes it is made a step ahead */
    struct shard_sums sums;   /* where the step has several shards */
    struct row_cursor cursor; /* where the next step begins */
    struct schedule schedule;
    struct optimizer optimizer;
    struct rotary_arena arena;
    const struct ranks *ranks; /* borrowed; NULL: this process alone. With several: */
    float *pieces;             /* of together_sum_gradients */
    struct rank_update update; /* since trainer_meet */
    bool stops;                /* set by the caller: no rank is to take the next step */
    bool expected;             /* the others wait for this one to take it */
};

/* Creates the task, the model with initial weights, and the memory of a step. `folder` has the run whose
 * vocabularies are used; NULL: run_vocabulary_folder says which, or they are made from the task's corpus. The
 * message of ROTARY_OUT_OF_MEMORY has the memory needed and the memory available. */
ROTARY_CHECKED rotary_status trainer_create(struct trainer *trainer, const struct run_config *config,
                                            const char *folder, const struct backend *backend,
                                            rotary_error *error);
/* The same of one of several ranks, each of which computes an equal share of the shards (together_check_shards). */
ROTARY_CHECKED rotary_status trainer_create_rank(struct trainer *trainer, const struct run_config *config,
                                                 const char *folder, const struct backend *backend,
                                                 const struct ranks *ranks, rotary_error *error);
/* Gives the model the weights it begins with, those of `init` where it is set, or those of a checkpoint of
 * the run, with the optimizer's state. An adaptation (lora_rank) takes no step before one of the two. */
ROTARY_CHECKED rotary_status trainer_begin(struct trainer *trainer, rotary_error *error);
ROTARY_CHECKED rotary_status trainer_resume(struct trainer *trainer, const struct checkpoint *checkpoint,
                                            rotary_error *error);
/* After that: all ranks have the status of the first that failed, else the weights of rank 0 and what they update of
 * its moments, and wait for each other from here on: the others in trainer_step, or after the last one in trainer_wait. */
ROTARY_CHECKED rotary_status trainer_meet(struct trainer *trainer, const struct ranks *ranks,
                                          rotary_status status, rotary_error *error);
/* Rank 0 tells the others, where they wait, that an evaluation begins. */
ROTARY_CHECKED rotary_status trainer_call_evaluation(struct trainer *trainer, rotary_error *error);
/* Before rank 0 reads moments: it gets those that it has not. ROTARY_INTERRUPTED: it has them, and a rank stops. */
ROTARY_CHECKED rotary_status trainer_collect(struct trainer *trainer, rotary_error *error);
/* Another rank, which has no step to take: waits for an evaluation, or for rank 0 to leave. */
ROTARY_CHECKED rotary_status trainer_wait(struct trainer *trainer, bool *evaluates, rotary_error *error);
/* Tells the others, where they wait for this rank, that it takes no step any more. */
void trainer_leave(struct trainer *trainer);
/* The bytes that trainer_create and what follows would allocate. Allocates next to nothing itself; of a task
 * with examples it may read the corpus. */
ROTARY_CHECKED rotary_status trainer_bytes(const struct run_config *config, const struct backend *backend,
                                           size_t *bytes, rotary_error *error);
/* The largest batch with which a trained model is evaluated. */
struct transformer_limits trainer_limits(const struct run_config *config);
/* The learning rate as a configuration has it. */
struct schedule trainer_schedule(const struct run_config *config);
/* A trainer that is all zero is allowed. */
void trainer_destroy(struct trainer *trainer);

struct trainer_step {
    struct loss_sums loss; /* sums over the step's micro-batches */
    int64_t tokens;        /* that the model read, without sources */
    double learning_rate, gradient_norm;
    bool diverged;  /* loss or norm is not finite; the model was not updated */
    bool evaluates; /* of a rank beside rank 0: no step was taken, but an evaluation begins */
};

/* Step `step`, counted from 1: data, forward, backward, clipping, update. The loss is the mean over all
 * targets of the step, and so are the gradients, however the step is cut into micro-batches. Allocates
 * nothing after the first step of each shape. A step without targets is ROTARY_INVALID_ARGUMENT. Of several
 * ranks all fail together, and ROTARY_INTERRUPTED says that one is to stop: then none has taken the step. */
ROTARY_CHECKED rotary_status trainer_step(struct trainer *trainer, int64_t step, struct trainer_step *result,
                                          rotary_error *error);

#endif
