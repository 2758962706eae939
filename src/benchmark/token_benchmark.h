/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of a prompt, and of a step of generation beside a plain read of as many bytes as its weights
 * have: with few sequences a step can be no faster than memory gives its weights.
 */
#ifndef ROTARY_BENCHMARK_TOKEN_BENCHMARK_H
#define ROTARY_BENCHMARK_TOKEN_BENCHMARK_H

#include "benchmark/timing.h"
#include "model/transformer.h"

struct token_benchmark {
    int64_t sequences, prompt; /* inputs: in a batch; tokens of the prompt of each, at least 1 */
    double prompt_seconds;     /* of all prompts, once everything is allocated and planned */
    double prompt_operations;  /* as benchmark/operations.h counts them */
    double weight_bytes;       /* of the matrices that multiply a token, as they are stored or packed */
    int64_t rounds;            /* of a step and a read, alternately */
    struct timing step, read;  /* seconds: a token of every sequence, the greedy choice included; the read */
    struct timing ratio;       /* step / read, by rounds */
};

/* Runs a model with weights of any values. ROTARY_INVALID_ARGUMENT if the prompt is longer than the model has
 * positions for, with one token more. */
ROTARY_CHECKED rotary_status benchmark_token(struct token_benchmark *benchmark,
                                             struct transformer *transformer, const struct backend *backend,
                                             rotary_error *error);

#endif
