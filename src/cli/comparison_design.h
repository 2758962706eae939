/* SPDX-License-Identifier: Apache-2.0
 *
 * What `rotary compare` compares, from its options: arms, seeds, and the configuration that they share.
 */
#ifndef ROTARY_CLI_COMPARISON_DESIGN_H
#define ROTARY_CLI_COMPARISON_DESIGN_H

#include "cli/run_plan.h"
#include "study/sweep.h"

struct design_options {
    const char *positions, *seeds;
    struct option_list vary, sweep;
    struct option_integer runs, problems, until, sweep_runs;
};

enum { DESIGN_ROWS = 8 };
extern const struct setting design_options[DESIGN_ROWS]; /* of a command, over struct design_options */

struct comparison_design {
    struct run_config config; /* not checked: what arms leave open still follows from them */
    struct arms arms;
    json_t *given; /* what --set says, with its values in `config` */
    int64_t *seeds;
    int seed_count;
    bool keep_arms, keep_seeds; /* no option names arms, or seeds: a folder's own are meant, if it has some */
    bool until;                 /* the seeds are trained one by one, until there is a verdict */
    bool all_pairs;             /* every arm is compared with every other */
    struct sweep sweep;         /* without candidates there is none */
};

/* request: of the configuration, without a position. folder: where the comparison is, or will be. Every arm
 * is checked, with the last seed. */
ROTARY_CHECKED rotary_status design_create(struct comparison_design *design,
                                           const struct design_options *options,
                                           const struct plan_request *request, const char *folder,
                                           rotary_error *error);
/* The rule of the verdicts and what it will find, as a sentence; and one about the seeds that exact match
 * needs. An empty text: there is none to say. */
enum { DESIGN_POWER_BYTES = 320 };
ROTARY_CHECKED rotary_status design_power(const struct comparison_design *design,
                                          char rule[DESIGN_POWER_BYTES], char exact_match[DESIGN_POWER_BYTES],
                                          rotary_error *error);
void design_free(struct comparison_design *design);

#endif
