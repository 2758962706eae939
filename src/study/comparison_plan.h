/* SPDX-License-Identifier: Apache-2.0
 *
 * What comparison_run() trains in a folder: the arms and seeds of the call and those that the folder has, and
 * the compare.json of both (comparison_file.h).
 */
#ifndef ROTARY_STUDY_COMPARISON_PLAN_H
#define ROTARY_STUDY_COMPARISON_PLAN_H

#include "file/file.h"
#include "records/comparison/comparison_file.h"
#include "study/arms.h"
#include "study/sweep.h"

struct comparison_plan_call {
    const struct run_config *config; /* what the arms do not set. Not checked, so that keys that follow from
                                        others are still 0. Its seed is not used */
    const struct arms *arms;         /* all set the same keys; the first is the baseline */
    const int64_t *seeds;            /* each once */
    int seed_count;
    bool keep_arms, keep_seeds; /* where the folder holds a comparison, its own are used instead */
    bool until;                 /* seeds are added one after the other until there is a verdict */
    bool all_pairs;             /* of every arm with every other */
    const struct sweep *sweep;  /* of keys that every arm has its own best value of; NULL: none */
    const char *folder;
    const char *command; /* the command line, for compare.json */
};

struct comparison_plan {
    const struct comparison_plan_call *call;
    struct comparison_file file; /* the folder's; its object is NULL where there is none */
    char path[FILE_PATH_BYTES];  /* of compare.json */
    struct arms arms;            /* the folder's, then those that the call adds */
    int64_t *seeds;              /* the folder's, then those that the call adds; with `until` those begun */
    int seed_count;
    int max_seeds;      /* of a comparison that goes on until a verdict; 0: it has all its seeds */
    int64_t first_seed; /* the first of them; others follow one by one */
    /* Each arm has one, checked; their seed is any of the seeds. From comparison_plan_settle. */
    struct run_config *configs;
    /* compare.json, and whether the folder's is another: from comparison_plan_describe. */
    json_t *object;
    bool changed;
};

/* Reads compare.json if the folder has one. What it plans and nobody has begun is left out, unless the call
 * has it too. The call lives as long as the plan. */
ROTARY_CHECKED rotary_status comparison_plan_create(struct comparison_plan *plan,
                                                    const struct comparison_plan_call *call,
                                                    rotary_error *error);
/* Makes the configurations, of arms that have their chosen values. Refuses a call whose runs do not compare
 * with those of the folder. */
ROTARY_CHECKED rotary_status comparison_plan_settle(struct comparison_plan *plan, rotary_error *error);
/* Describes what is settled, with what a sweep chose; NULL: nothing. */
ROTARY_CHECKED rotary_status comparison_plan_describe(struct comparison_plan *plan, const json_t *sweep,
                                                      rotary_error *error);
/* Adds the next seed of a comparison that goes on until a verdict. */
void comparison_plan_add_seed(struct comparison_plan *plan);
/* Records that results are shown, of the `count` seeds that every arm has finished. */
void comparison_plan_add_look(struct comparison_plan *plan, const int64_t *seeds, int count);
void comparison_plan_free(struct comparison_plan *plan);

#endif
