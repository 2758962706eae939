/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of generation, in tokens per second.
 */
#ifndef ROTARY_BENCHMARK_GENERATE_BENCHMARK_H
#define ROTARY_BENCHMARK_GENERATE_BENCHMARK_H

#include "benchmark/limits.h"
#include "benchmark/token_benchmark.h"
#include "train/run.h"

struct generate_benchmark {
    int64_t problems, tokens; /* inputs: prompts of one token in a batch, and tokens generated for each */
    double seconds;           /* of generation, including the allocation of the KV cache */
    double startup_seconds;   /* to create the model and to generate a first token */
    double parameters, operations; /* of the model; of generation, as benchmark/operations.h counts them */
    struct token_benchmark token;  /* its prompt is an input, and its sequences become `problems` */
    struct limits limits;
};

/* Generates once, with a model of `config`, which is checked, with initial weights and no stop token. A
 * profile of `backend` measures generation alone. ROTARY_INVALID_ARGUMENT if the model has too few positions.
 */
ROTARY_CHECKED rotary_status benchmark_generate(struct generate_benchmark *benchmark,
                                                const struct run_config *config,
                                                const struct backend *backend, rotary_error *error);

#endif
