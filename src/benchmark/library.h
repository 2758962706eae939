/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast librotary is: rotation beside scaling, attention beside matrix products, decoding beside reading
 * the cache. Each is measured by turns with its limit (benchmark/timing.h).
 */
#ifndef ROTARY_BENCHMARK_LIBRARY_H
#define ROTARY_BENCHMARK_LIBRARY_H

#include "benchmark/timing.h"
#include "tensor/compute.h"

#include <rotary/rope.h>

/* A tensor [time, heads, head_dim] turned in place, and scaled in place. */
struct rope_benchmark {
    int64_t time, heads, head_dim; /* given, as are these */
    rotary_dtype dtype;
    rotary_pairing pairing;
    int64_t rounds; /* found, as are these */
    struct timing rotate, scale;
    double bytes; /* that each of them moves */
};
ROTARY_CHECKED rotary_status benchmark_rope(struct rope_benchmark *benchmark, const struct compute *compute,
                                            const struct timing_plan *plan, rotary_error *error);

enum attention_rotation { ATTENTION_NONE, ATTENTION_ROPE, ATTENTION_ROPER, ATTENTION_ROTATIONS };
extern const char *const attention_rotation_names[];

/* Causal attention in the type the compute stores. Operations count the work under the causal mask alone: 2
 * batch heads time (time + 1) head_dim forward, 2.5 times as much again backward. */
struct attention_benchmark {
    int64_t batch, heads, time, head_dim; /* given */
    int64_t rounds;                       /* found, as are these */
    struct timing forward[ATTENTION_ROTATIONS], forward_backward[ATTENTION_ROTATIONS];
    double forward_ratio, forward_backward_ratio; /* RoPER's time in RoPE's, median over rounds */
    double operations;  /* of the forward pass; with the backward 3.5 times as many */
    double matmul_rate; /* operations a second of large matrix products alone */
};
ROTARY_CHECKED rotary_status benchmark_attention(struct attention_benchmark *benchmark,
                                                 const struct compute *compute,
                                                 const struct timing_plan *plan, rotary_error *error);

/* One new token of each of `batch` sequences, with RoPE, over caches of `length` tokens before it; and
 * reading the same caches. */
struct decode_benchmark {
    int64_t batch, heads, key_value_heads, length, head_dim; /* given */
    int64_t rounds;                                          /* found, as are these */
    struct timing decode, read;
    double bytes; /* of the caches' `length` keys and values */
};
ROTARY_CHECKED rotary_status benchmark_decode(struct decode_benchmark *benchmark,
                                              const struct compute *compute, const struct timing_plan *plan,
                                              rotary_error *error);

#endif
