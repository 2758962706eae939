/* SPDX-License-Identifier: Apache-2.0
 *
 * Set-up that the forward and the backward pass share.
 */
#ifndef ROTARY_ATTENTION_ATTENTION_PASS_H
#define ROTARY_ATTENTION_ATTENTION_PASS_H

#include "attention/attention_tables.h"
#include "attention/packed_sequences.h"
#include "attention/vector_columns.h"

/* The vectors by distance of a call. */
enum { OF_KEYS, OF_QUERIES, OF_VALUES, VECTORS };

/* A pass over the batch of a call, or over one of its packed sequences. The heads of a pass are the key-value
 * heads of all batch entries: head h is key-value head h % key_value_heads of batch entry h /
 * key_value_heads. */
struct attention_pass {
    const rotary_attention *attention;
    rotary_attention_problem problem;
    int64_t queries; /* of the sequence; problem.queries are those of the call, the rows of log_sum_exp */
    struct attention_shape_tables tables;
    struct attention_scratch scratch;
    struct vector_columns vectors[VECTORS];
    const int64_t *key_lengths; /* [batch], or NULL */
};

/* A pass with only the plan's part of the problem set, and the call's vectors. */
struct attention_pass rotary_attention_pass_of(const rotary_attention *attention,
                                               const struct attention_call *call);

/* The positions of a call's tokens, for one sequence of it, or for a shape while measuring. */
struct attention_positions rotary_attention_positions_of(const struct attention_call *call,
                                                         const struct attention_sequence *sequence);

/* Carves the tables, the vectors and the workers' scratch, of scratch_bytes each. */
void rotary_attention_carve_pass(struct attention_pass *pass, rotary_attention_shape shape,
                                 const struct attention_positions *positions, size_t scratch_bytes,
                                 struct rotary_arena *arena);

/* Computes the tables, packs the vectors and sets the inputs that both passes read. `shape` may have fewer
 * keys than the sequence. */
void rotary_attention_start_pass(struct attention_pass *pass, const struct attention_call *call,
                                 const struct attention_sequence *sequence, rotary_attention_shape shape);

/* The problem of one batch entry: that of the pass, or a copy in `own` with its keys and rotations. */
const rotary_attention_problem *rotary_attention_problem_at(const struct attention_pass *pass,
                                                            int64_t sequence, rotary_attention_problem *own);

/* Checks the members that forward and backward calls have in common, and the operands. */
rotary_status rotary_attention_check_call(const rotary_attention *attention,
                                          const struct attention_call *call,
                                          const struct attention_operand *operands, int count,
                                          rotary_error *error);
/* Copies what was given to `known`, and what calls have in common to `call`, which borrows `known`. */
rotary_status rotary_attention_read_forward(const rotary_attention_forward_call *given,
                                            rotary_attention_forward_call *known, struct attention_call *call,
                                            rotary_error *error);
rotary_status rotary_attention_read_backward(const rotary_attention_backward_call *given,
                                             rotary_attention_backward_call *known,
                                             struct attention_call *call, rotary_error *error);
/* Checks all that was read, but for the workspace. */
rotary_status rotary_attention_check_forward(const rotary_attention *attention,
                                             const struct attention_call *call, rotary_error *error);
rotary_status rotary_attention_check_backward(const rotary_attention *attention,
                                              const struct attention_call *call, rotary_error *error);
/* Checks the workspace, places what is in it for the full call, and runs the call. */
rotary_status rotary_attention_run_call(const rotary_attention *attention, struct attention_call *call,
                                        rotary_error *error);

#endif
