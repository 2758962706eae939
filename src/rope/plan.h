/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a plan. Only the files of this floor look inside.
 */
#ifndef ROTARY_ROPE_PLAN_H
#define ROTARY_ROPE_PLAN_H

#include "base/arena.h"
#include "rope/rope.h"

struct rotary_rope_kernels; /* kernel/rope/rope.h */

struct rotary_rope {
    struct rotary_span span;
    int64_t pairs;             /* span.dim / 2 */
    double *inverse_frequency; /* [pairs]: radians a position */
    double attention_factor;   /* multiplies cosine and sine of queries and keys */
    bool angles_f32;
    int64_t table_positions;
    float *cosine, *sine; /* [table_positions, pairs], without any magnitude */
    int threads;
    const struct rotary_rope_kernels *kernels;
    struct rotary_arena memory;
};

/* frequencies.c: fills inverse_frequency and attention_factor, whose memory the plan has already. */
void rotary_rope_set_frequencies(rotary_rope *rope, const rotary_rope_config *config);

/* rows.c: cosine and sine of position * inverse_frequency for pairs first ... first + count - 1, without any
 * magnitude; from the table where it has them. */
void rotary_rope_row(const rotary_rope *rope, double position, int64_t first, int64_t count, float *cosine,
                     float *sine);
/* Makes the table, whose memory the plan has already. */
void rotary_rope_fill_table(rotary_rope *rope);

#endif
