/* SPDX-License-Identifier: Apache-2.0
 *
 * The compare.json of a comparison that is planned (comparison_file.h says what is in it). Its object grows as
 * the comparison goes on; *changed says whether it became another than what the folder has.
 */
#ifndef ROTARY_RECORDS_COMPARISON_COMPARISON_DESCRIPTION_H
#define ROTARY_RECORDS_COMPARISON_COMPARISON_DESCRIPTION_H

#include "records/comparison/comparison_file.h"

struct described_arm {
    const char *name;
    const json_t *set, *chosen; /* chosen NULL: there was no sweep */
    const json_t *config;       /* all keys of its runs, whose seed does not count */
};

struct comparison_description {
    const struct comparison_file *before; /* the folder's; its object is NULL where there is none */
    const struct described_arm *arms;
    int arm_count;
    const int64_t *seeds;
    int seed_count;
    const char *command; /* the command line */
    int max_seeds;       /* of a comparison that goes on until a verdict; 0: it has all its seeds */
    int64_t first_seed;  /* of such a comparison */
    bool all_pairs;      /* likewise: every arm is compared with every other */
    const json_t *sweep; /* what was chosen; NULL: nothing */
};

/* Makes *object, which the caller releases, also after an error. */
ROTARY_CHECKED rotary_status description_create(const struct comparison_description *description,
                                                json_t **object, bool *changed, rotary_error *error);
void description_add_seed(json_t *object, int64_t seed);

/* Results that are shown. */
struct description_look {
    const char *const *arms; /* [arm_count]: names */
    int arm_count;
    const int64_t *seeds; /* that every arm has finished */
    int seed_count;
    int64_t steps; /* of the longest runs */
};
/* Records them, unless the last look has the same, or there is no such seed. */
void description_add_look(json_t *object, const struct description_look *look, bool *changed);

#endif
