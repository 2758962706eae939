/* SPDX-License-Identifier: Apache-2.0
 *
 * The compare.json of a plan (comparison_file.h says what is in it).
 */
#ifndef ROTARY_STUDY_COMPARISON_DESCRIPTION_H
#define ROTARY_STUDY_COMPARISON_DESCRIPTION_H

#include "study/comparison_plan.h"

/* Makes plan->object from the plan and what the folder has; plan->changed says whether they differ. sweep:
 * what was chosen (sweep.h); NULL: nothing. */
ROTARY_CHECKED rotary_status description_create(struct comparison_plan *plan, const json_t *sweep,
                                                rotary_error *error);
/* Adds the plan's last seed. */
ROTARY_CHECKED rotary_status description_add_seed(struct comparison_plan *plan, rotary_error *error);
/* Records that results are shown, of the `count` seeds that every arm has finished; unless the last look has
 * the same, or there is no such seed. */
ROTARY_CHECKED rotary_status description_add_look(struct comparison_plan *plan, const int64_t *seeds,
                                                  int count, rotary_error *error);

#endif
