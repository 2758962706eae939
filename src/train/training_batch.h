/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of training data, which the task writes to the memory that the model reads.
 */
#ifndef ROTARY_TRAIN_TRAINING_BATCH_H
#define ROTARY_TRAIN_TRAINING_BATCH_H

#include "base/arena.h"
#include "task/task.h"

struct training_batch {
    const struct task *task;
    int64_t rows, time;
    int32_t *sequences; /* [rows, time + 1] */
    int32_t *tokens;    /* [rows, time]: the sequences without their last token */
    int32_t *targets;   /* [rows, time]: the sequences without their first token */
};

/* Pushes the buffers onto an arena. Called twice: to measure, then to assign memory (base/arena.h). */
void batch_carve(struct training_batch *batch, struct rotary_arena *arena);

/* Fills the batch with sequences first_row ... first_row + rows - 1 of step `step`, on `threads` threads.
 * Allocates nothing. */
void batch_fill(const struct training_batch *batch, int threads, uint64_t seed, uint32_t step,
                int64_t first_row);

#endif
