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
    struct sweep sweep;         /* without candidates there is none */
};

/* request: of the configuration, without a position. folder: where the comparison is, or will be. Every arm
 * is checked, with the last seed. */
ROTARY_CHECKED rotary_status design_create(struct comparison_design *design,
                                           const struct design_options *options,
                                           const struct plan_request *request, const char *folder,
                                           rotary_error *error);
/* One sentence about the seeds that exact match needs; false for comparisons of which there is none to say.
 */
enum { DESIGN_POWER_BYTES = 256 };
bool design_power(const struct comparison_design *design, char text[DESIGN_POWER_BYTES]);
void design_free(struct comparison_design *design);

#endif
