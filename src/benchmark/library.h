/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmarks of librotary: rotation against scaling in place, attention against matmul, decoding against
 * reading the cache. Each is measured in alternating runs with its limit (benchmark/timing.h).
 */
#ifndef ROTARY_BENCHMARK_LIBRARY_H
#define ROTARY_BENCHMARK_LIBRARY_H

#include "backend/backend.h"
#include "benchmark/timing.h"

#include <rotary/rope.h>

/* A tensor [time, heads, head_dim] rotated in place, and scaled in place. */
struct rope_benchmark {
    /* inputs */
    int64_t time, heads, head_dim;
    rotary_dtype dtype;
    rotary_pairing pairing;
    /* results */
    int64_t rounds;
    struct timing rotate, scale;
    double bytes; /* read and written by either */
};
ROTARY_CHECKED rotary_status benchmark_rope(struct rope_benchmark *benchmark, const struct backend *backend,
                                            const struct timing_plan *plan, rotary_error *error);

/* ATTENTION_BIASED is RoPE with a bias by distance, and its gradient. The last three have vectors by distance
 * and their gradients, and no rotation: Shaw's tables are clipped at 16, those of the others have every
 * distance. */
enum attention_encoding {
    ATTENTION_NONE,
    ATTENTION_ROPE,
    ATTENTION_ROPER,
    ATTENTION_BIASED,
    ATTENTION_SHAW,
    ATTENTION_TRANSFORMER_XL,
    ATTENTION_DEBERTA,
    ATTENTION_ENCODINGS
};
extern const char *const attention_encoding_names[];

/* Causal attention in backend->storage. Operations count visible keys alone: for a sequence of `time` tokens
 * 2 heads time (time + 1) head_dim in the forward pass, 2.5 times as many in the backward pass. */
struct attention_benchmark {
    /* inputs */
    int64_t batch, heads, time, head_dim;
    int64_t
        shortest; /* packed sequences of shortest ... time tokens; 0: all have `time` and are not packed */
    /* results */
    int64_t rounds;
    struct timing forward[ATTENTION_ENCODINGS], forward_backward[ATTENTION_ENCODINGS];
    /* Their times divided by RoPE's, paired by round; those of RoPE and of none are 0. */
    struct timing forward_ratio[ATTENTION_ENCODINGS], forward_backward_ratio[ATTENTION_ENCODINGS];
    double operations;  /* of the forward pass; forward and backward have 3.5 times as many */
    double matmul_rate; /* operations per second of a large matmul alone */
};
ROTARY_CHECKED rotary_status benchmark_attention(struct attention_benchmark *benchmark,
                                                 const struct backend *backend,
                                                 const struct timing_plan *plan, rotary_error *error);

/* A decode step of one token for each of `batch` sequences, with RoPE and KV caches of `length` tokens; and
 * reading the same caches. */
struct decode_benchmark {
    /* inputs */
    int64_t batch, heads, key_value_heads, length, head_dim;
    /* results */
    int64_t rounds;
    struct timing decode, read;
    double bytes; /* of `length` keys and values per sequence */
};
ROTARY_CHECKED rotary_status benchmark_decode(struct decode_benchmark *benchmark,
                                              const struct backend *backend, const struct timing_plan *plan,
                                              rotary_error *error);

#endif
