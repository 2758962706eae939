/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a plan. Only the files of this floor look inside.
 */
#ifndef ROTARY_ROPE_ROPE_PLAN_H
#define ROTARY_ROPE_ROPE_PLAN_H

#include "base/arena.h"
#include "rope/rope_roles.h"

struct rotary_rope_kernels; /* kernel/rope/rope_kernels.h */

struct rotary_rope {
    struct rotary_span span;
    int64_t pairs;             /* span.dim / 2 */
    double *inverse_frequency; /* [pairs]: radians a position */
    double attention_factor;   /* multiplies cosine and sine of queries and keys */
    double softmax_factor;
    int axes;
    uint8_t *axis; /* [pairs] */
    /* xPos: [pairs], ln(zeta) / scale, the rate at which a query's magnitude grows. NULL: no xPos. */
    double *xpos_growth;
    double xpos_origin;
    bool angles_f32;
    /* ggml's f32 angles: a pair's angle is its axis's `ratio` times that of the pair before, times `slowing`,
     * [pairs], which scaling has brought about. NULL: angles are position times inverse frequency. */
    float ratio[ROTARY_MAX_AXES];
    float *frequency_scale;
    bool axes_restart; /* frequencies begin again with each axis */
    rotary_dtype table_dtype;
    int64_t table_positions;
    float *cosine, *sine; /* [table_positions, pairs], without any magnitude, not rounded to table_dtype */
    int threads;
    const struct rotary_rope_kernels *kernels;
    struct rotary_arena memory;
};

/* rope_check.c: everything a configuration can get wrong. Afterwards rotary_dim, isa, original_positions and
 * factor are filled in. */
ROTARY_CHECKED rotary_status rotary_rope_check_config(rotary_rope_config *config, rotary_error *error);

/* Where a pair stands, and among how many: all there are, or with separate axes those of its section. */
struct rotary_pair_index {
    int64_t pair, pairs;
};

/* axes.c: which axis a pair turns by, and its place. */
int rotary_rope_count_axes(const rotary_rope_config *config);
int rotary_rope_axis_of(const rotary_rope_config *config, int64_t pair);
struct rotary_pair_index rotary_rope_pair_index(const rotary_rope_config *config, int64_t pair);

/* frequencies.c: fills inverse_frequency, growth and the factors of a plan that has memory for them. */
void rotary_rope_set_frequencies(rotary_rope *rope, const rotary_rope_config *config);

/* rows.c: makes the table, whose memory the plan has already. */
void rotary_rope_fill_table(rotary_rope *rope);

#endif
