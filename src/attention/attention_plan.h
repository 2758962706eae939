/* SPDX-License-Identifier: Apache-2.0
 *
 * The contents of an attention plan, and the checks that its calls share.
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
    bool causal, key_is_value;
    int64_t value_start, value_channels; /* value_channels 0: all */
    int64_t window;
    const rotary_rope *rope, *value_rope;
    unsigned rotated; /* a sum of rotary_attention_rotate; keys that are values count as keys */
    int threads;      /* never 0 */
    enum rotary_rope_role rows[ROTARY_ROLES]; /* the role whose rows of cosines and sines each role uses */
    const struct rotary_attention_kernels *kernels;
};

/* The query heads that share a key-value head. */
static inline int64_t rotary_attention_group(const rotary_attention *attention)
{
    return attention->heads / attention->key_value_heads;
}

/* Outputs have the rows of values. */
static inline enum rotary_rope_role rotary_attention_role_of(rotary_attention_rotate part)
{
    return part == ROTARY_ROTATE_QUERY ? ROTARY_ROLE_QUERY
           : part == ROTARY_ROTATE_KEY ? ROTARY_ROLE_KEY
                                       : ROTARY_ROLE_VALUE;
}

/* Keys and values have a cache each, unless keys are the values. */
static inline int64_t rotary_attention_caches(const rotary_attention *attention)
{
    return attention->key_is_value ? 1 : 2;
}

rotary_status rotary_attention_check_shape(rotary_attention_shape shape, rotary_error *error);
/* A view given to a call, [batch, time, heads, head_dim]. One that is written may not map two vectors to the
 * same memory. */
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
/* Where keys are the values, refuses a view `name` of values with data, and replaces it by `key`, that of the
 * keys. */
rotary_status rotary_attention_share_keys(const rotary_attention *attention, const char *name,
                                          rotary_attention_const_view key, rotary_attention_const_view *value,
                                          rotary_error *error);
rotary_status rotary_attention_share_written_keys(const rotary_attention *attention, const char *name,
                                                  rotary_attention_view key, rotary_attention_view *value,
                                                  rotary_error *error);
rotary_status rotary_attention_check_bias(const rotary_attention *attention,
                                          const rotary_attention_bias *bias, rotary_attention_shape shape,
                                          rotary_error *error);
/* Each of [batch] lengths, if any, must be 0 ... keys. */
rotary_status rotary_attention_check_key_lengths(const int64_t *key_lengths, rotary_attention_shape shape,
                                                 rotary_error *error);
rotary_status rotary_attention_check_distance_bias(const rotary_attention *attention,
                                                   const rotary_attention_distance_bias *bias,
                                                   rotary_error *error);
/* Its arrays are read. */
rotary_status rotary_attention_check_piecewise_bias(const rotary_attention_piecewise_bias *bias,
                                                    rotary_error *error);
/* The vectors by distance of a call, and whether its keys are rotated before attention sees them. */
struct attention_vectors {
    const rotary_attention_distance_vectors *keys, *queries, *values;
    const float *query_bias;
    bool keys_rotated;
};
rotary_status rotary_attention_check_vectors(const rotary_attention *attention,
                                             const struct attention_vectors *vectors, rotary_error *error);
rotary_status rotary_attention_check_dropout(const rotary_attention_dropout *dropout, rotary_error *error);
/* The mask of a sequence, or of a batch, whose first sequence has this number. */
struct rotary_attention_dropout_mask rotary_attention_dropout_mask_of(const rotary_attention_dropout *dropout,
                                                                      int64_t sequence);
/* Lists the terms that the problem has, from their arguments in it. */
void rotary_attention_use_terms(const rotary_attention *attention, rotary_attention_problem *problem);
rotary_status rotary_attention_check_workspace(const void *workspace, size_t bytes, rotary_error *error);

/* A problem with only the members set that the plan determines. */
rotary_attention_problem rotary_attention_problem_of(const rotary_attention *attention);

/* Scratch memory of the workers of a call, `bytes` for each. */
struct attention_scratch {
    unsigned char *memory;
    size_t bytes;
};
static inline void rotary_attention_carve_scratch(const rotary_attention *attention,
                                                  struct attention_scratch *scratch, size_t bytes,
                                                  struct rotary_arena *arena)
{
    scratch->bytes = rotary_align(bytes);
    scratch->memory = rotary_arena_push(arena, attention->threads, scratch->bytes);
}
static inline struct rotary_arena rotary_attention_scratch_of(const struct attention_scratch *scratch,
                                                              int worker)
{
    return rotary_arena_over(scratch->memory + (size_t)worker * scratch->bytes, scratch->bytes);
}

/* Positions are exact in double up to here. */
#define ROTARY_ATTENTION_MAX_POSITION ((int64_t)1 << 52)

#endif
