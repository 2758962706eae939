/* SPDX-License-Identifier: Apache-2.0
 *
 * The training data of a step, which the task writes to the memory that the model reads.
 */
#ifndef ROTARY_TRAIN_TRAINING_BATCH_H
#define ROTARY_TRAIN_TRAINING_BATCH_H

#include "task/task_batch.h"

/* Fills all rows of the batch on `threads` threads: row i with the row at `first` that is i further. Returns
 * the number of targets: classes that are not BATCH_IGNORED. Allocates nothing. */
int64_t batch_fill(const struct task_batch *batch, int threads, const struct task_place *first);

#endif
