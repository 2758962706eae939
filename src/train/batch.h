/* SPDX-License-Identifier: Apache-2.0
 *
 * Training data, written by the task straight to where the model reads it.
 */
#ifndef ROTARY_TRAIN_BATCH_H
#define ROTARY_TRAIN_BATCH_H

#include "base/arena.h"
#include "task/task.h"

struct batch {
    const struct task *task;
    int64_t rows, time;
    int32_t *sequences; /* [rows, time + 1] */
    int32_t *tokens;    /* [rows, time]: a sequence without its last token */
    int32_t *targets;   /* [rows, time]: without its first */
};

/* Takes the buffers from an arena (base/arena.h: the same call measures). */
void batch_carve(struct batch *batch, struct rotary_arena *arena);

/* Sequences first_row ... first_row + rows - 1 of step `step`, made on `threads` threads. Takes no memory. */
void batch_fill(const struct batch *batch, int threads, uint64_t seed, uint32_t step, int64_t first_row);

#endif
