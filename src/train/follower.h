/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a run beside rank 0: they take its steps, and leave its folder alone.
 */
#ifndef ROTARY_TRAIN_FOLLOWER_H
#define ROTARY_TRAIN_FOLLOWER_H

#include "train/train.h"

/* What rank 0 found in the folder. */
struct follower_start {
    bool finished, resumes;
    bool saved; /* there is a checkpoint */
    int64_t step;
};
/* Called by all ranks: all have the status of rank 0, and what it found. */
ROTARY_CHECKED rotary_status follower_begin(const struct ranks *ranks, struct follower_start *start,
                                            rotary_status status, rotary_error *error);

/* train_run of a rank beside rank 0. `config` is the call's, with its precision. */
ROTARY_CHECKED rotary_status follower_run(const struct train_call *call, const struct run_config *config,
                                          struct train_result *result, rotary_error *error);

#endif
