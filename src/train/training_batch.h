/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a step or of an evaluation, which the task writes to the memory that the model reads.
 */
#ifndef ROTARY_TRAIN_TRAINING_BATCH_H
#define ROTARY_TRAIN_TRAINING_BATCH_H

#include "task/task_batch.h"

/* Where the data of step `step` begins, of a task that has no end. */
struct task_place training_place(uint64_t seed, int64_t step);
/* Validation sequence `row`, counted from 0. */
struct task_place validation_place(uint64_t seed, int64_t row);

/* Fills all rows of the batch on `threads` threads: row i with the row at `first` that is i further. Returns
 * the number of targets: classes that are not BATCH_IGNORED. Allocates nothing. */
int64_t batch_fill(const struct task_batch *batch, int threads, const struct task_place *first);

#endif
