/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of attention that its benchmark times, filled with random numbers.
 */
#ifndef ROTARY_BENCHMARK_TIMED_TERMS_H
#define ROTARY_BENCHMARK_TIMED_TERMS_H

#include "base/arena.h"
#include "benchmark/library.h"

#include <rotary/attention.h>

struct timed_terms {
    int64_t heads, head_dim, time;
    /* Each with its gradient. */
    float *biases, *bias_gradient;                        /* [heads, time] */
    float *keys, *key_gradient, *others, *other_gradient; /* [time, heads, head_dim] */
    float *query_bias, *query_bias_gradient;              /* [heads, head_dim] */
    float *intercepts, *slopes, *segment_gradients;       /* [heads, segments], [2, heads, segments] */
    float *knots, *inputs, *scales, *input_gradient, *scale_gradient;
    float *sinks, *sinks_gradient; /* [heads] */
};

/* Takes the arrays from the arena; heads, head_dim and time are there. */
void timed_terms_carve(struct timed_terms *terms, struct rotary_arena *arena);
void timed_terms_fill(const struct timed_terms *terms);
/* Gives calls the terms of an encoding: none to the first three. Keys that are values leave out the others. */
void timed_terms_add(const struct timed_terms *terms, enum attention_encoding encoding,
                     rotary_attention_forward_call *forward, rotary_attention_backward_call *backward);

#endif
