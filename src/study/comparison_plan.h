/* SPDX-License-Identifier: Apache-2.0
 *
 * What compare() trains in a folder: the arms and seeds of the call and those that the folder has, and the
 * compare.json of both (comparison_file.h).
 */
#ifndef ROTARY_STUDY_COMPARISON_PLAN_H
#define ROTARY_STUDY_COMPARISON_PLAN_H

#include "study/arms.h"

struct comparison_plan_call {
    const struct run_config *config; /* what the arms do not set. Not checked, so that keys that follow from
                                        others are still 0. Its seed is not used */
    const struct arms *arms;         /* all set the same keys; the first is the baseline */
    const int64_t *seeds;            /* each once */
    int seed_count;
    bool keep_arms, keep_seeds; /* where the folder holds a comparison, its own are used instead */
    const char *folder;
    const char *command; /* the command line, for compare.json */
};

struct comparison_plan {
    struct arms arms;           /* the folder's, then those that the call adds */
    struct run_config *configs; /* of each arm, checked; their seed is any of the seeds */
    int64_t *seeds;             /* the folder's, then those that the call adds */
    int seed_count;
    json_t *object; /* compare.json */
    bool changed;   /* the folder's is another, or there is none */
};

/* Reads compare.json if the folder has one. What it plans and nobody has begun is left out, unless the call
 * has it too. Refuses a call whose runs do not compare with those of the folder. */
ROTARY_CHECKED rotary_status comparison_plan_create(struct comparison_plan *plan,
                                                    const struct comparison_plan_call *call,
                                                    rotary_error *error);
void comparison_plan_free(struct comparison_plan *plan);

#endif
