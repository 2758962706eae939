/* SPDX-License-Identifier: Apache-2.0
 *
 * The arms of a comparison: the configurations that it trains, from the keys that it varies.
 */
#ifndef ROTARY_STUDY_ARMS_H
#define ROTARY_STUDY_ARMS_H

#include "records/comparison/arm_name.h"
#include "train/run.h"

enum { MAX_ARMS = 100 };

struct arm {
    char name[ARM_NAME_BYTES]; /* "roper,value_fraction=0.5": arm_name.h */
    json_t *set;               /* an object: the keys that are varied, with this arm's values */
    json_t *chosen;            /* the same for the keys of a sweep (study/sweep.h); NULL: there is none */
};

struct arms {
    struct arm *items; /* the first is the baseline */
    int count;
    const json_t *given; /* borrowed: settings that hold whatever model an arm's `init` has; NULL: none */
};

/* One arm that sets nothing. */
ROTARY_CHECKED rotary_status arms_create(struct arms *arms, rotary_error *error);
void arms_free(struct arms *arms);

/* Replaces every arm by one for each value in `values`, "0.5,1.0": the first key that is added varies most
 * slowly. Commas within brackets, braces and quotes belong to a value. Of a key whose values are names, "all"
 * stands for those that are not listed before it, without one that only chooses another ("position" of rotate).
 * `option` names the source in errors.
 * ROTARY_INVALID_ARGUMENT for a key that does not exist, that cannot be varied (the message says why) or is
 * varied already, for a value that is wrong or given twice, and for more than MAX_ARMS arms. */
struct arm_axis {
    const char *option, *key, *values;
};
ROTARY_CHECKED rotary_status arms_vary(struct arms *arms, const struct arm_axis *axis, rotary_error *error);

/* Appends an arm; takes ownership of set and chosen, also in a failure. */
ROTARY_CHECKED rotary_status arms_append(struct arms *arms, const char *name, json_t *set, json_t *chosen,
                                         rotary_error *error);
/* The index of the arm of that name; -1 if there is none. */
int arms_find(const struct arms *arms, const char *name);

/* The configuration of the runs of arm `index`: `base`, which need not be checked, with what the arm sets and
 * the seed; checked. What follows from other keys (0 in `base`) follows from this arm's values. An arm that
 * sets `init` has the model of that run, but for what is given and what else it sets. */
ROTARY_CHECKED rotary_status arm_config(const struct arms *arms, int index, const struct run_config *base,
                                        int64_t seed, struct run_config *config, rotary_error *error);
/* The configurations of all arms, with the seed; ROTARY_INVALID_ARGUMENT if two are the same, or train no
 * steps. arms_configs_free frees *configs. */
ROTARY_CHECKED rotary_status arms_configs(const struct arms *arms, const struct run_config *base,
                                          int64_t seed, struct run_config **configs, rotary_error *error);
/* `configs` may be NULL. */
void arms_configs_free(struct run_config *configs, int count);

#endif
