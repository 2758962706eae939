/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed sequences, for forward and backward.
 */
#ifndef ROTARY_ATTENTION_PACKED_SEQUENCES_H
#define ROTARY_ATTENTION_PACKED_SEQUENCES_H

#include "attention/attention_plan.h"

/* A sequence of a call with packed sequences: its first query and key among all, and its shape. A call
 * without packed sequences is its own only sequence. */
struct attention_sequence {
    int64_t query, key;
    rotary_attention_shape shape;
};

struct attention_call;
/* The bytes of workspace of `call` for a sequence of a shape, and the work for one sequence. */
typedef size_t attention_bytes(const rotary_attention *attention, const struct attention_call *call,
                               rotary_attention_shape shape);
typedef void attention_run(const rotary_attention *attention, const struct attention_call *call,
                           const struct attention_sequence *sequence, struct rotary_arena *workspace);

/* The members that forward and backward calls have in common. */
struct attention_call {
    rotary_attention_shape shape;
    rotary_attention_const_view query, key, value;
    rotary_attention_bias bias;
    rotary_attention_distance_bias distance_bias;
    rotary_attention_distance_vectors distance_keys;
    const float *query_bias;
    rotary_attention_distance_vectors distance_queries, distance_values;
    rotary_attention_piecewise_bias piecewise_bias;
    rotary_attention_dropout dropout;
    const float *sinks;
    rotary_attention_packed_sequences packed_sequences;
    bool keys_rotated;
    const int64_t *key_lengths;
    const int32_t *query_positions, *key_positions;
    void *workspace;
    attention_bytes *bytes;
    attention_run *run;
    const void *given;          /* the public struct */
    float *query_bias_gradient; /* of a backward call; NULL: not wanted */
    bool distance_gradient;     /* a backward call that wants the gradient of the distance bias */
    bool vector_gradient;       /* one that wants those of vectors by distance or of query_bias */
    bool piecewise_gradient;    /* one that wants some of the piecewise bias's */
    float *distance_sums;       /* at the end of the workspace, [heads, queries + keys] for each sequence */
};

rotary_status
rotary_attention_check_packed_sequences(rotary_attention_shape shape,
                                        const rotary_attention_packed_sequences *packed_sequences,
                                        rotary_error *error);
/* Sequence `index` of a call with packed sequences. */
struct attention_sequence
rotary_attention_sequence_of(rotary_attention_shape shape,
                             const rotary_attention_packed_sequences *packed_sequences, int64_t index);
/* Where the sums of the gradient of the distance bias of all sequences begin in the workspace. */
float *rotary_attention_distance_sums_of(const rotary_attention *attention,
                                         const struct attention_call *call);
/* The bytes of workspace for all sequences of a call, of which shape, packed sequences, bytes and whether
 * there are positions are read; 0 for an invalid shape or packed sequences. */
size_t rotary_attention_workspace_bytes(const rotary_attention *attention, const struct attention_call *call);
void rotary_attention_run_packed_sequences(const rotary_attention *attention,
                                           const struct attention_call *call);

/* The view after its first `tokens` tokens. */
rotary_attention_const_view rotary_attention_skip(const rotary_attention *attention,
                                                  rotary_attention_const_view view, int64_t tokens);
rotary_attention_view rotary_attention_skip_written(const rotary_attention *attention,
                                                    rotary_attention_view view, int64_t tokens);
rotary_attention_bias rotary_attention_skip_bias(rotary_attention_bias bias,
                                                 const struct attention_sequence *sequence);

#endif
