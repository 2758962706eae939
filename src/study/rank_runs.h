/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of a list on several ranks: each takes the next one that nobody has, from one counter, and trains it. Rank 0
 * has the list, tells the others, and shows what all of them are at.
 */
#ifndef ROTARY_STUDY_RANK_RUNS_H
#define ROTARY_STUDY_RANK_RUNS_H

#include "study/run_list.h"

/* run_list_train of rank 0. */
ROTARY_CHECKED rotary_status rank_runs_train(const struct run_list_call *call, rotary_error *error);
/* The other ranks: they train runs of the lists of rank 0 until it says that there is none any more. `list` and
 * what shows progress are not read. */
ROTARY_CHECKED rotary_status rank_runs_follow(const struct run_list_call *call, rotary_error *error);
/* Rank 0: there is none. */
ROTARY_CHECKED rotary_status rank_runs_end(const struct ranks *ranks, rotary_error *error);

#endif
