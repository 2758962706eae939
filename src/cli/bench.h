/* SPDX-License-Identifier: Apache-2.0
 *
 * What those commands of `rotary bench` share that time a function of the library on tensors of some shapes.
 */
#ifndef ROTARY_CLI_BENCH_H
#define ROTARY_CLI_BENCH_H

#include "benchmark/timing.h"
#include "cli/command.h"
#include "tensor/compute.h"

#include <jansson.h>

/* --shape and --seconds. */
struct bench_options {
    const char *shape;
    struct option_real seconds;
};

/* Their rows: what the numbers of a shape are called, and what they are. */
#define BENCH_OPTIONS(shape_value, shape_help)                                                               \
    {"--shape", SETTING_TEXT, offsetof(struct bench_options, shape), .metavar = shape_value,                 \
     .help = shape_help},                                                                                    \
    {                                                                                                        \
        "--seconds", SETTING_REAL, offsetof(struct bench_options, seconds),                                  \
            .metavar = "X", .min = 0, .max = 3600,                                                           \
            .help = "how long to measure what is compared by turns (default: 1, and at least 5 rounds)"      \
    }

/* What is asked of one shape. */
struct bench_request {
    const struct compute *compute;
    bool one_type; /* --precision says which: compute->storage */
    struct timing_plan plan;
    json_t *rows; /* where results go; NULL: they are printed */
};

enum { BENCH_MAX_DIMENSIONS = 5 };

struct bench {
    int dimensions;
    const char *names;     /* of the dimensions, for sentences */
    const int64_t *shapes; /* [shape_count, dimensions], without --shape */
    int shape_count;
    const char *title;
    /* Times one shape and prints what came of it, or appends it to the rows. */
    rotary_status (*time)(const int64_t *shape, const struct bench_request *request, rotary_error *error);
};

/* Reads the shape that is asked for, times it or all of the bench's, and prints the results; the run of a
 * command whose options are struct bench_options. */
enum exit_status bench_run(const struct invocation *invocation, const struct bench *bench);

/* "  turned    1.360 (   1.402) ms   98.7 GB/s", of what moves so many bytes. */
void bench_print_pass(const char *name, const struct timing *timing, double bytes);
/* {"best_seconds", "median_seconds"}. */
json_t *bench_timing(const struct timing *timing);

#endif
