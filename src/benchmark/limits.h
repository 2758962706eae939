/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine can do at best, measured: large matrix products alone, and passes over memory that compute
 * next to nothing. Everything else is held to these.
 */
#ifndef ROTARY_BENCHMARK_LIMITS_H
#define ROTARY_BENCHMARK_LIMITS_H

#include "tensor/compute.h"

/* A product of the shape of a large feed-forward layer, in the type the compute stores. */
struct matmul_limit;
ROTARY_CHECKED rotary_status matmul_limit_create(struct matmul_limit **limit, const struct compute *compute,
                                                 rotary_error *error);
void matmul_limit_destroy(struct matmul_limit *limit);
/* Multiplications and additions of one run. */
double matmul_limit_operations(void);
/* Runs it once; `limit` is a struct product_limit (benchmark/timing.h wants it so). */
ROTARY_CHECKED rotary_status matmul_limit_run(void *limit, rotary_error *error);

/* A pass over `bytes` bytes of `dtype` at `data`, which is borrowed and has room for `bytes` rounded up to
 * MEMORY_LIMIT_UNIT. */
enum { MEMORY_LIMIT_UNIT = 256 };
struct memory_limit {
    rotary_isa isa; /* not ROTARY_ISA_AUTO */
    int threads;
    rotary_dtype dtype;
    void *data;
    int64_t bytes;
    uint32_t words; /* what memory_limit_read found */
};
/* Scales every element by one, in place: reads and writes every byte once. `limit` is a struct memory_limit.
 */
ROTARY_CHECKED rotary_status memory_limit_scale(void *limit, rotary_error *error);
/* Reads every byte once. */
ROTARY_CHECKED rotary_status memory_limit_read(void *limit, rotary_error *error);

struct limits {
    double matmul_rate; /* operations a second of large matrix products alone */
    double memory_rate; /* bytes a second, read and written, scaling an array too large for any cache */
};

/* Takes about half a second. */
ROTARY_CHECKED rotary_status limits_measure(const struct compute *compute, struct limits *limits,
                                            rotary_error *error);

#endif
