/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands of `rotary bench` that time a function of the library on tensors of given shapes.
 */
#ifndef ROTARY_CLI_BENCH_H
#define ROTARY_CLI_BENCH_H

#include "backend/backend.h"
#include "benchmark/timing.h"
#include "cli/command.h"

#include <jansson.h>

/* --shape and --seconds, and --encodings of attention. */
struct bench_options {
    const char *shape;
    struct option_real seconds;
    const char *encodings;
};

/* Their rows: the names of a shape's numbers, and their help. */
#define BENCH_OPTIONS(shape_value, shape_help)                                                               \
    {"--shape", SETTING_TEXT, offsetof(struct bench_options, shape), .metavar = shape_value,                 \
     .help = shape_help},                                                                                    \
    {                                                                                                        \
        "--seconds", SETTING_REAL, offsetof(struct bench_options, seconds),                                  \
            .metavar = "X", .min = 0, .max = 3600,                                                           \
            .help = "seconds of alternating rounds (default: 1, and at least 5 rounds)"                      \
    }

/* How to time a shape. */
struct bench_request {
    const struct bench *bench;
    const struct backend *backend;
    bool one_type; /* --precision says which: backend->storage */
    struct timing_plan plan;
    const char *encodings; /* NULL: all */
    json_t *results;       /* array; NULL: they are printed */
};

enum { BENCH_MAX_DIMENSIONS = 5 };

/* A benchmark of the library. Its command's options are struct bench_options, its row has it, and its run is
 * bench_run. */
struct bench {
    int dimensions;
    int optional;          /* of the last dimensions --shape may leave out; they are 0 then */
    const char *names;     /* of the dimensions, for messages */
    const int64_t *shapes; /* [shape_count, dimensions], without --shape */
    int shape_count;
    const int64_t
        *device_shape; /* [dimensions], without --shape on a device; of commands that are on_device */
    const char *title;
    rotary_status (*check)(const struct bench_options *options, rotary_error *error); /* NULL: no more */
    /* Times one shape and passes what it measured to bench_result. */
    rotary_status (*time)(const int64_t *shape, const struct bench_request *request, rotary_error *error);
    /* A result as text, and as an object. */
    void (*print)(const void *result, const struct backend *backend);
    json_t *(*to_json)(const void *result, const struct backend *backend);
};

/* Times the shape of --shape, or all shapes of the benchmark, and prints the results. */
enum exit_status bench_run(const struct invocation *invocation);
/* Prints a result, or appends it to the array. */
void bench_result(const struct bench_request *request, const void *result);

/* "  rotated    1.360 (   1.402) ms   98.7 GB/s", of a pass that moves `bytes` bytes. */
void bench_print_pass(const char *name, const struct timing *timing, double bytes);
/* {"best_seconds", "median_seconds"}. */
json_t *bench_timing(const struct timing *timing);

#endif
