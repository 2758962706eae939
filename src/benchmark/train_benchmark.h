/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a step of training takes, and how long it would take if the machine did nothing but its matrix
 * products.
 */
#ifndef ROTARY_BENCHMARK_TRAIN_BENCHMARK_H
#define ROTARY_BENCHMARK_TRAIN_BENCHMARK_H

#include "benchmark/limits.h"
#include "benchmark/timing.h"
#include "train/run.h"

/* A model whose steps are timed. */
struct train_benchmark_model {
    const struct run_config *config; /* given, checked */
    struct profile *profile;         /* given: where the time of the timed steps goes; may be NULL */
    struct timing step;              /* found, as are these */
    struct timing ratio;             /* of its steps to the first model's, pair by pair; of the first, 0 */
    double tokens, parameters;       /* a step reads; the model has */
    double operations;               /* of a step: benchmark_train_operations */
};

struct train_benchmark {
    struct train_benchmark_model models[TIMING_MAX_ITEMS]; /* the first `count` */
    int count;
    int64_t steps;             /* of each, timed; one more before them is not */
    double first_step_seconds; /* found, as is this: seconds from nothing to the end of the first model's
                                  first step */
    struct limits limits;
};

/* Multiplications and additions of one step: 6 a token for every parameter of a matrix that is multiplied
 * with (2 forward, 4 backward), and causal attention, 2 products forward and 5 backward of head_dim (T + 1) /
 * 2 keys a query. */
double benchmark_train_operations(const struct run_config *config);

/* Trains the models on their tasks' data, taking steps by turns and writing no file. */
ROTARY_CHECKED rotary_status benchmark_train(struct train_benchmark *benchmark, const struct compute *compute,
                                             rotary_error *error);

#endif
