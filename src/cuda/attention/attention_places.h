/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call of attention has on the host and its kernels need on the device: starts, lengths, and rows of
 * cosines and sines that the plan's tables lack. All of it goes there in one copy; a call without any is no
 * copy.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_PLACES_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_PLACES_H

#include "cuda/attention/attention_problem.h"
#include "cuda/cuda.h"

#include "rope/rope_roles.h"

/* Rows of positions 0 ... positions - 1 in device memory, for a role that has its own. */
struct attention_table {
    float *cosine, *sine;
};

struct attention_plan {
    rotary_attention_config config;
    rotary_attention *checked; /* librotary's plan, whose checks and defaults these calls have too */
    int64_t positions;         /* that all tables have */
    struct attention_table table[ROTARY_ROLES];
};

/* The positions of `count` tokens: positions[i], or lengths[i / each] + i % each, or first + i. */
struct placed_tokens {
    const int32_t *positions;
    const int64_t *lengths;
    int64_t first, each, count;
};

/* The rows of some tokens: `own` ones, or those of the plan's tables. Pointers are of the host until they are
 * on the device. */
struct placed_rows {
    const int32_t *rows;
    int64_t origin;
    bool own;
    const float *cosine[ROTARY_ROLES], *sine[ROTARY_ROLES];
};

/* The host's part of a call. Members that it lacks are zero. */
struct attention_places {
    struct placed_tokens query_tokens, key_tokens; /* count 0: none are rotated */
    const int32_t *query_starts, *key_starts, *source;
    int64_t starts, sources; /* entries of each */
    const int64_t *key_lengths, *lengths, *keep, *discard;
    int64_t batch; /* entries of these */
    struct placed_rows query_rows, key_rows;
};

/* Copies it all to the device; afterwards its pointers are of the device. */
ROTARY_CHECKED rotary_status cuda_attention_place(const struct backend *backend,
                                                  const struct attention_plan *plan,
                                                  struct attention_places *places, rotary_error *error);

/* The rotation of tokens with these rows for a part, none where the plan does not rotate it. */
struct cuda_attention_rotation cuda_attention_rotation_of(const struct attention_plan *plan,
                                                          const struct placed_rows *rows,
                                                          rotary_attention_rotate part);

/* The problem of a plan and a shape, with only these members set. */
struct cuda_attention cuda_attention_problem_of(const struct attention_plan *plan,
                                                rotary_attention_shape shape);

/* Packed rows of `time` tokens of each sequence and head, of elements of `size` bytes, in an arena. */
void *cuda_attention_push_rows(const struct cuda_attention *problem, int64_t heads, int64_t time, size_t size,
                               struct rotary_arena *arena);

/* The rotation of a role of a plan, NULL where there is none. */
const rotary_rope *cuda_attention_rope_of(const struct attention_plan *plan, int role);

#endif
