/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of generation, in tokens per second.
 */
#ifndef ROTARY_BENCHMARK_GENERATE_BENCHMARK_H
#define ROTARY_BENCHMARK_GENERATE_BENCHMARK_H

#include "benchmark/limits.h"
#include "benchmark/token_benchmark.h"

struct generate_benchmark {
    int64_t problems, tokens; /* inputs: prompts of one token in a batch, and tokens generated for each */
    double seconds;           /* of generation, including the allocation of the KV cache */
    double startup_seconds;   /* input: to create or to load the model; to generate a first token is added */
    double parameters, operations; /* of the model; of generation, as benchmark/operations.h counts them */
    struct token_benchmark token;  /* its prompt is an input, and its sequences become `problems` */
    struct limits limits;
};

/* Generates once, with a decoder of any weights and no stop token. `backend` is that of the transformer; a
 * profile of it measures generation alone. ROTARY_INVALID_ARGUMENT if the model has too few positions, or
 * takes too few tokens at once for as many sequences. */
ROTARY_CHECKED rotary_status benchmark_generate(struct generate_benchmark *benchmark,
                                                struct transformer *transformer,
                                                const struct backend *backend, rotary_error *error);

#endif
