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

/* What attention computes for encodings: without positions, RoPE, RoPER, and, without rotation, a learned
 * bias by distance, as of T5; Shaw's vectors, clipped at 16; those of Transformer-XL and of DeBERTa for every
 * distance; FIRE's bias; RoPE with sinks; RoPE with scales of queries by position; and RoPER whose keys are its
 * values. With the backward pass all gradients are computed. */
enum attention_encoding {
    ATTENTION_NONE,
    ATTENTION_ROPE,
    ATTENTION_ROPER,
    ATTENTION_BIAS,
    ATTENTION_SHAW,
    ATTENTION_TRANSFORMER_XL,
    ATTENTION_DEBERTA,
    ATTENTION_FIRE,
    ATTENTION_SINKS,
    ATTENTION_SCALES, /* of queries, by position */
    ATTENTION_KEY_IS_VALUE,
    ATTENTION_ENCODINGS
};
extern const char *const attention_encoding_names[];

struct attention_result {
    struct timing forward, forward_backward;
    struct timing forward_ratio, forward_backward_ratio; /* to RoPE's time, paired by round */
    size_t workspace_bytes;
};

/* Causal attention in backend->storage. Operations count visible keys alone, and no terms: for a sequence of
 * `time` tokens 2 heads time (time + 1) head_dim in the forward pass, 2.5 times as many in the backward pass.
 */
struct attention_benchmark {
    /* inputs */
    int64_t batch, heads, time, head_dim;
    int64_t
        shortest; /* packed sequences of shortest ... time tokens; 0: all have `time` and are not packed */
    bool wanted[ATTENTION_ENCODINGS]; /* RoPE always is */
    /* results */
    int64_t rounds;
    struct attention_result results[ATTENTION_ENCODINGS]; /* of those wanted */
    double operations;  /* of the forward pass; forward and backward have 3.5 times as many */
    double matmul_rate; /* operations per second of a large matmul alone */
};
ROTARY_CHECKED rotary_status benchmark_attention(struct attention_benchmark *benchmark,
                                                 const struct backend *backend,
                                                 const struct timing_plan *plan, rotary_error *error);

/* A decode step of one token for each of `batch` sequences, with RoPE and KV caches of `length` tokens; with
 * sinks beside; with RoPER over the cache of keys alone, which are the values too; and reading the caches of
 * both. */
enum decode_kind { DECODE_PLAIN, DECODE_SINKS, DECODE_KEY_IS_VALUE, DECODE_KINDS };
extern const char *const decode_kind_names[];
struct decode_benchmark {
    /* inputs */
    int64_t batch, heads, key_value_heads, length, head_dim;
    /* results */
    int64_t rounds;
    struct timing decode[DECODE_KINDS], read;
    struct timing ratio[DECODE_KINDS]; /* to the plain step's time, paired by round */
    double bytes;                      /* of `length` keys and values per sequence */
};
ROTARY_CHECKED rotary_status benchmark_decode(struct decode_benchmark *benchmark,
                                              const struct backend *backend, const struct timing_plan *plan,
                                              rotary_error *error);

#endif
