/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a step of training takes, and how long it would take if the machine did nothing but its matrix
 * products.
 */
#ifndef ROTARY_TRAIN_BENCHMARK_H
#define ROTARY_TRAIN_BENCHMARK_H

#include "train/run.h"

struct benchmark {
    int64_t steps;             /* timed; one more before them is not */
    double median, best;       /* seconds a step */
    double first;              /* seconds from nothing to the end of the first step */
    double tokens, parameters; /* a step reads; the model has */
    double operations;         /* floating point operations of a step: benchmark_operations */
    double product_rate;       /* operations a second of large matrix products alone, measured */
};

/* Multiplications and additions of one step: 6 a token for every parameter of a matrix that is multiplied
 * with (2 forward, 4 backward), and causal attention, 2 products forward and 5 backward of head_dim (T + 1) /
 * 2 keys a query. */
double benchmark_operations(const struct run_config *config);

/* Trains config, which is checked, for steps + 1 steps on its task's data, writing no file. If the compute
 * has a profile it is that of the timed steps. */
ROTARY_CHECKED rotary_status benchmark_train(const struct run_config *config, const struct compute *compute,
                                             int64_t steps, struct benchmark *benchmark, rotary_error *error);

#endif
