/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a step of training takes, and how long it would take if the machine did nothing but its matrix
 * products.
 */
#ifndef ROTARY_BENCHMARK_TRAIN_H
#define ROTARY_BENCHMARK_TRAIN_H

#include "benchmark/limits.h"
#include "benchmark/timing.h"
#include "train/run.h"

struct train_benchmark {
    int64_t steps; /* timed; one more before them is not */
    struct timing step;
    double first;              /* seconds from nothing to the end of the first step */
    double tokens, parameters; /* a step reads; the model has */
    double operations;         /* floating point operations of a step: benchmark_train_operations */
    struct limits limits;
};

/* Multiplications and additions of one step: 6 a token for every parameter of a matrix that is multiplied
 * with (2 forward, 4 backward), and causal attention, 2 products forward and 5 backward of head_dim (T + 1) /
 * 2 keys a query. */
double benchmark_train_operations(const struct run_config *config);

/* Trains config, which is checked, for steps + 1 steps on its task's data, writing no file. If the compute
 * has a profile it is that of the timed steps. */
ROTARY_CHECKED rotary_status benchmark_train(const struct run_config *config, const struct compute *compute,
                                             int64_t steps, struct train_benchmark *benchmark,
                                             rotary_error *error);

#endif
