/* SPDX-License-Identifier: Apache-2.0
 *
 * How many examples or tokens the batches of a run have.
 */
#ifndef ROTARY_TRAIN_BATCH_SIZE_H
#define ROTARY_TRAIN_BATCH_SIZE_H

#include "train/packed_batch.h"
#include "train/run.h"

/* The most tokens that an example can have. */
int64_t run_example_tokens(const struct run_config *config);
/* The size of a micro-batch of a task with examples, of whichever corpus. */
struct batch_size run_batch_size(const struct run_config *config);

#endif
