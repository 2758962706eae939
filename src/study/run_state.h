/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a run of a list has come, as its folder says.
 */
#ifndef ROTARY_STUDY_RUN_STATE_H
#define ROTARY_STUDY_RUN_STATE_H

#include "study/run_list.h"

/* The steps that a run has left; -1: it is finished. One that cannot be read is taken not to have begun:
 * train_run() will say what is wrong with it. */
int64_t run_state_steps_left(const struct run_list *list, const struct listed_run *run);
/* Whether a run's folder has the records of all its steps without its weights, as one unpacked from an archive
 * has: they are the result, and training it again would only write them over. */
bool run_state_has_records_alone(const char *folder, int64_t steps);

#endif
