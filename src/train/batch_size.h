/* SPDX-License-Identifier: Apache-2.0
 *
 * How many rows or tokens the batches of a run have, and which.
 */
#ifndef ROTARY_TRAIN_BATCH_SIZE_H
#define ROTARY_TRAIN_BATCH_SIZE_H

#include "train/batches.h"
#include "train/run.h"

/* The most tokens that an example can have. */
int64_t run_example_tokens(const struct run_config *config);
/* The size of a micro-batch, of whichever corpus. */
struct batch_size run_batch_size(const struct run_config *config);
/* The training data of the configuration's task, in the order of a run. */
struct row_order run_training_order(const struct run_config *config, const struct task *task);

#endif
