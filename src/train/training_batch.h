/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling a batch of training data, which the task writes to the memory that the model reads.
 */
#ifndef ROTARY_TRAIN_TRAINING_BATCH_H
#define ROTARY_TRAIN_TRAINING_BATCH_H

#include "task/task_batch.h"

/* Fills all rows of the batch on `threads` threads: row i with the row at `first` that is i further.
 * Allocates nothing. */
void batch_fill(const struct task_batch *batch, int threads, const struct task_place *first);

#endif
