/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of a training step, and the limits of the machine that it is compared with.
 */
#ifndef ROTARY_BENCHMARK_TRAIN_BENCHMARK_H
#define ROTARY_BENCHMARK_TRAIN_BENCHMARK_H

#include "benchmark/limits.h"
#include "benchmark/timing.h"
#include "train/run.h"

/* One of the models compared. */
struct train_benchmark_model {
    /* inputs */
    const struct run_config *config; /* checked */
    struct profile *profile;         /* of the timed steps; may be NULL */
    /* results */
    struct timing step;
    struct timing ratio;  /* its times divided by the first model's, paired; 0 for the first model */
    double tokens;        /* that the model predicts, per step */
    double source_tokens; /* that its encoder reads, per step; 0: it has none */
    double parameters;    /* of the model */
    double operations;    /* per step: operations_training */
};

struct train_benchmark {
    struct train_benchmark_model models[TIMING_MAX_ITEMS]; /* the first `count` */
    int count;
    int64_t steps;             /* timed steps per model; a warm-up step comes before them */
    double first_step_seconds; /* result: until the first model's first step is done */
    struct limits limits;
};

/* Trains the models on their tasks' data, in alternating steps. Writes no file. */
ROTARY_CHECKED rotary_status benchmark_train(struct train_benchmark *benchmark, const struct backend *backend,
                                             rotary_error *error);

#endif
