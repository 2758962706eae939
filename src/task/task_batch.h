/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a task's batches.
 */
#ifndef ROTARY_TASK_TASK_BATCH_H
#define ROTARY_TASK_TASK_BATCH_H

#include "base/arena.h"
#include "task/task.h"

struct task_batch {
    const struct task *task; /* borrowed */
    int64_t rows;            /* at most */
    struct task_shape shape;
    int32_t *tokens, *classes;         /* [rows, time] */
    int32_t *lengths, *source_lengths; /* [rows]; NULL: the shape has none */
    int32_t *source;                   /* [rows, source_time]; NULL: the shape has none */
    int32_t *scratch;                  /* [rows, scratch] */
    float *values;                     /* [rows]; NULL: the shape has none */
};

/* Pushes the memory of `rows` rows onto an arena. Called twice: to measure, then to assign memory
 * (base/arena.h). */
void task_batch_carve(struct task_batch *batch, const struct task *task, int64_t rows,
                      struct rotary_arena *arena);

/* Fills row `row` of the batch. Different rows may be filled by different threads. */
void task_batch_fill(const struct task_batch *batch, int64_t row, const struct task_place *place);

/* The batch of rows first ... first + rows - 1, which points into the memory. */
struct batch task_batch_view(const struct task_batch *batch, int64_t first, int64_t rows);

#endif
