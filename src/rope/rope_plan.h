/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a plan, which only this module reads.
 */
#ifndef ROTARY_ROPE_ROPE_PLAN_H
#define ROTARY_ROPE_ROPE_PLAN_H

#include "base/arena.h"
#include "rope/rope_roles.h"

struct rotary_rope_kernels; /* kernel/rope/rope_kernels.h */

struct rotary_rope {
    struct rotary_span span;
    int64_t pairs;             /* span.dim / 2 */
    double *inverse_frequency; /* [pairs], radians per position */
    double attention_factor;   /* multiplies cosine and sine of queries and keys */
    double softmax_factor;
    int axes;
    uint8_t *axis; /* [pairs] */
    /* xPos: [pairs], ln(zeta) / scale, the growth of the logarithm of a query's magnitude per position. NULL:
     * no xPos. */
    double *xpos_growth;
    double xpos_origin;
    double query_scale_beta, query_scale_length, query_scale_offset; /* beta 0: none */
    bool angles_f32;
    /* ggml's f32 angles: the angle of a pair before scaling is that of the previous pair times the `ratio` of
     * its axis. Scaling multiplies it by `frequency_scale`, [pairs]. NULL: an angle is position * inverse
     * frequency. */
    float ratio[ROTARY_MAX_AXES];
    float *frequency_scale;
    bool axes_restart; /* ROTARY_AXES_SEPARATE: frequencies start again with each axis */
    rotary_dtype table_dtype;
    int64_t table_positions;
    float *cosine, *sine; /* [table_positions, pairs], without magnitudes, not rounded to table_dtype */
    /* A plan with magnitudes has these, for queries and keys: [table_positions, pairs], complete for a
     * forward rotation at the same position of every axis. Where they do not differ the two are one. */
    float *role_cosine[ROTARY_ROLE_VALUE], *role_sine[ROTARY_ROLE_VALUE];
    int threads;
    const struct rotary_rope_kernels *kernels;
    struct rotary_arena memory;
};

/* Whether queries, keys and values are rotated alike: there are no magnitudes. */
static inline bool rotary_rope_roles_alike(const rotary_rope *rope)
{
    return rope->attention_factor == 1.0 && !rope->xpos_growth && rope->query_scale_beta == 0;
}

/* Whether queries have a magnitude that keys have not: xPos's, or a scale by position. */
static inline bool rotary_rope_has_query_rows(const rotary_rope *rope)
{
    return rope->xpos_growth || rope->query_scale_beta > 0;
}

/* rope_check.c: validates a configuration and sets the defaults of rotary_dim, isa, original_positions and
 * factor. */
ROTARY_CHECKED rotary_status rotary_rope_check_config(rotary_rope_config *config, rotary_error *error);

/* rope_settings.c: refuses a setting that differs from its default and that nothing reads beside the others. */
ROTARY_CHECKED rotary_status rotary_rope_check_unread(const rotary_rope_config *config, rotary_error *error);

/* The frequency of a pair follows from its index and the number of pairs: in the plan, or, with
 * ROTARY_AXES_SEPARATE, in the pair's section. */
struct rotary_pair_index {
    int64_t pair, pairs;
};

/* axes.c */
int rotary_rope_count_axes(const rotary_rope_config *config);
int rotary_rope_axis_of(const rotary_rope_config *config, int64_t pair);
struct rotary_pair_index rotary_rope_pair_index(const rotary_rope_config *config, int64_t pair);

/* frequencies.c: sets attention_factor and softmax_factor; and computes inverse_frequency, axis and
 * xpos_growth of a plan whose memory is allocated. */
void rotary_rope_set_factors(rotary_rope *rope, const rotary_rope_config *config);
void rotary_rope_set_frequencies(rotary_rope *rope, const rotary_rope_config *config);

/* rows.c: computes the tables of cosines and sines, whose memory is allocated. */
void rotary_rope_fill_table(rotary_rope *rope);

#endif
