/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in an attention plan, and what its calls share.
 */
#ifndef ROTARY_ATTENTION_ATTENTION_PLAN_H
#define ROTARY_ATTENTION_ATTENTION_PLAN_H

#include "base/arena.h"
#include "kernel/attention/attention_kernels.h"
#include "rope/rope_roles.h"

struct rotary_attention {
    int64_t heads, key_value_heads, head_dim;
    rotary_dtype dtype;
    float scale, softcap;
    bool causal;
    int64_t window;
    const rotary_rope *rope, *value_rope;
    int threads;                              /* never 0 */
    enum rotary_rope_role rows[ROTARY_ROLES]; /* whose rows of cosines and sines do for each role */
    const struct rotary_attention_kernels *kernels;
};

/* Cosines and sines of the positions a call needs: first ... first + count - 1. */
struct attention_tables {
    int64_t first, count;
    float *cosine[ROTARY_ROLES], *sine[ROTARY_ROLES];
};

rotary_status rotary_attention_check_shape(rotary_attention_shape shape, rotary_error *error);
/* A view a call was given, [batch, time, heads, head_dim]. One that is written may not fold vectors into one
 * place. */
struct attention_operand {
    const char *name;
    rotary_attention_const_view view;
    int64_t batch, time, heads;
    bool written;
};
rotary_status rotary_attention_check_operands(const rotary_attention *attention,
                                              const struct attention_operand *operands, int count,
                                              rotary_error *error);
static inline rotary_attention_const_view rotary_attention_as_const(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}
rotary_status rotary_attention_check_bias(const rotary_attention *attention,
                                          const rotary_attention_bias *bias, rotary_attention_shape shape,
                                          rotary_error *error);
rotary_status rotary_attention_check_workspace(const void *workspace, size_t bytes, rotary_error *error);

/* What a kernel must know that the plan says. */
rotary_attention_problem rotary_attention_problem_of(const rotary_attention *attention);

/* Positions are exact in double up to here. */
#define ROTARY_ATTENTION_MAX_POSITION ((int64_t)1 << 52)

/* Carves tables for `count` positions from `first`; fill computes rows of them. */
void rotary_attention_carve_tables(const rotary_attention *attention, struct attention_tables *tables,
                                   int64_t first, int64_t count, struct rotary_arena *arena);
void rotary_attention_fill_rows(const rotary_attention *attention, const struct attention_tables *tables,
                                int64_t row, int64_t count);
/* The rows of the tables from `position` on, for queries, keys or values (and outputs). */
struct rotary_attention_rotation rotary_attention_rotation_at(const rotary_attention *attention,
                                                              const struct attention_tables *tables,
                                                              enum rotary_rope_role role, int64_t position);
/* Tables for the queries and keys of a shape: one if their positions overlap or touch, else two. */
struct attention_shape_tables {
    struct attention_tables keys, queries; /* queries.count is 0 where keys serves both */
};
void rotary_attention_carve_shape_tables(const rotary_attention *attention,
                                         struct attention_shape_tables *tables, rotary_attention_shape shape,
                                         struct rotary_arena *arena);
/* Computes them, and tells `problem` of them and of the shape. */
void rotary_attention_use_tables(const rotary_attention *attention,
                                 const struct attention_shape_tables *tables, rotary_attention_shape shape,
                                 rotary_attention_problem *problem);

#endif
