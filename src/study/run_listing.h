/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands out the runs of a list that are not finished, so that others train them: any number of processes, on any
 * machines that have the folder, in any order, each by `rotary train --resume`.
 */
#ifndef ROTARY_STUDY_RUN_LISTING_H
#define ROTARY_STUDY_RUN_LISTING_H

#include "study/run_list.h"

/* run_list_train(); where the call has `left`, nothing is trained. Then it makes the folder of every run that has
 * not begun that of a run with its configuration and no steps, as train_run() leaves one that is killed before its
 * first step, and calls left for each run that is not finished, in their order. ROTARY_INTERRUPTED if there is one:
 * what follows needs it first. */
ROTARY_CHECKED rotary_status run_list_train_or_hand_out(const struct run_list_call *call,
                                                        rotary_error *error);

#endif
