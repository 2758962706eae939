/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast a model writes.
 */
#ifndef ROTARY_BENCHMARK_GENERATE_BENCHMARK_H
#define ROTARY_BENCHMARK_GENERATE_BENCHMARK_H

#include "benchmark/limits.h"
#include "train/run.h"

struct generate_benchmark {
    int64_t problems, tokens; /* given: prompts of one token that are continued at once, by as many tokens */
    double seconds;           /* for all of them, the memory of the cache included */
    double startup_seconds;   /* seconds from nothing to a model that is ready to write */
    double parameters, operations; /* of the model; of the whole, as in benchmark/operations.h */
    struct limits limits;
};

/* A model of config, which is checked, with initial weights writes, once and without stopping. If the compute
 * has a profile it is that of the writing. ROTARY_INVALID_ARGUMENT if the model has too few positions. */
ROTARY_CHECKED rotary_status benchmark_generate(struct generate_benchmark *benchmark,
                                                const struct run_config *config,
                                                const struct compute *compute, rotary_error *error);

#endif
