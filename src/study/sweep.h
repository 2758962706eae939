/* SPDX-License-Identifier: Apache-2.0
 *
 * Before a comparison, chooses for every arm the best values of some keys, such as its learning rate, on
 * seeds that the comparison never has. So each arm is compared at its own best, and the choice is no part of
 * what is measured.
 *
 *     <folder>/sweep/<arm>,<key>=<value>-<seed>/    a run
 *
 * The best is that with the best mean of the primary measure over the seeds, the first of equal ones. A value
 * with a run that diverged loses to all others. compare.json keeps it as "sweep":
 *
 *     "candidates"  the values that were tried: [{"learning_rate": 0.001}, ...]
 *     "seeds"       SWEEP_SEED, the next, ...
 *     "measure"     the primary measure's name
 *     "scores"      of every arm and candidate: "arm", "set", "mean" (null if a run diverged), "diverged"
 * (runs)
 */
#ifndef ROTARY_STUDY_SWEEP_H
#define ROTARY_STUDY_SWEEP_H

#include "study/run_list.h"

enum { SWEEP_SEED = 1000001, SWEEP_MAX_RUNS = 1000 }; /* a comparison's own seeds are below SWEEP_SEED */

struct sweep {              /* at most MAX_ARMS arms with their candidates */
    struct arms candidates; /* each sets the keys of the sweep, which no arm of the comparison varies */
    int runs;               /* of each arm and candidate: 1 to SWEEP_MAX_RUNS */
};

struct sweep_call {
    const struct sweep *sweep;
    const struct run_config *config; /* as in comparison_plan_call */
    const char *folder;              /* the comparison's */
    const json_t *before;            /* "sweep" of its compare.json; NULL: there is none */
    struct run_list_call train;      /* without its list */
};

/* Checks that the folder's sweep, if it has one, has the same candidates and seeds. */
ROTARY_CHECKED rotary_status sweep_check(const struct sweep *sweep, const json_t *before, const char *path,
                                         rotary_error *error);
/* Checks the configurations of arms that have nothing chosen, with every candidate. */
ROTARY_CHECKED rotary_status sweep_check_arms(const struct sweep *sweep, const struct arms *arms,
                                              const struct run_config *config, rotary_error *error);
/* Sets `chosen` of every arm that has none: a choice is never made anew. Trains what is not finished. *record
 * becomes the folder's "sweep", which the caller releases. */
ROTARY_CHECKED rotary_status sweep_choose(struct arms *arms, const struct sweep_call *call, json_t **record,
                                          rotary_error *error);

#endif
