/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed sequences, for forward and backward.
 */
#ifndef ROTARY_ATTENTION_PACKED_SEQUENCES_H
#define ROTARY_ATTENTION_PACKED_SEQUENCES_H

#include "attention/attention_plan.h"

/* A sequence of a packed call: its first query and key among all, and its shape. A call that is not packed is
 * its own only sequence. */
struct attention_sequence {
    int64_t query, key;
    rotary_attention_shape shape;
};

/* Scratch memory for a shape, and doing `call` for one sequence of it. */
typedef size_t attention_bytes(const rotary_attention *attention, rotary_attention_shape shape);
typedef void attention_run(const rotary_attention *attention, const void *call,
                           const struct attention_sequence *sequence, void *workspace);

rotary_status rotary_attention_check_packing(rotary_attention_shape shape,
                                             const rotary_attention_packed_sequences *packing,
                                             rotary_error *error);
/* Scratch memory for all sequences; 0 if the packing makes no sense. */
size_t rotary_attention_packed_sequences_bytes(const rotary_attention *attention,
                                               rotary_attention_shape shape,
                                               const rotary_attention_packing *packing,
                                               attention_bytes *bytes);
void rotary_attention_run_packed_sequences(const rotary_attention *attention, rotary_attention_shape shape,
                                           const rotary_attention_packing *packing, attention_bytes *bytes,
                                           attention_run *run, const void *call, void *workspace);

/* What is left behind the first `tokens` tokens. */
rotary_attention_const_view rotary_attention_skip(const rotary_attention *attention,
                                                  rotary_attention_const_view view, int64_t tokens);
rotary_attention_view rotary_attention_skip_written(const rotary_attention *attention,
                                                    rotary_attention_view view, int64_t tokens);
rotary_attention_bias rotary_attention_skip_bias(rotary_attention_bias bias,
                                                 const struct attention_sequence *sequence);

#endif
