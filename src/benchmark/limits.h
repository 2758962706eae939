/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's limits, measured: a large matmul alone, and passes over memory with hardly any arithmetic.
 * Other timings are compared with these.
 */
#ifndef ROTARY_BENCHMARK_LIMITS_H
#define ROTARY_BENCHMARK_LIMITS_H

#include "backend/backend.h"

/* A matmul in backend->storage: on the host the fastest of some large shapes, on a device square and
 * so large that it takes a millisecond, beside which the start of a kernel is nothing. */
struct matmul_limit;
ROTARY_CHECKED rotary_status matmul_limit_create(struct matmul_limit **limit, const struct backend *backend,
                                                 rotary_error *error);
void matmul_limit_destroy(struct matmul_limit *limit);
/* Multiplications and additions of one run. */
double matmul_limit_operations(const struct matmul_limit *limit);
/* Runs it once; `limit` is a struct matmul_limit: the signature is that of timing_item.run. */
ROTARY_CHECKED rotary_status matmul_limit_run(void *limit, rotary_error *error);

/* A pass over `bytes` bytes of `dtype` at `data`, which is borrowed and has at least `bytes` rounded up to a
 * multiple of MEMORY_LIMIT_UNIT. */
enum { MEMORY_LIMIT_UNIT = 256 };
struct memory_limit {
    rotary_isa isa; /* not ROTARY_ISA_AUTO */
    int threads;
    rotary_dtype dtype;
    void *data;
    int64_t bytes;
    uint32_t words; /* result of memory_limit_read: the xor of all 32-bit words */
};
/* Multiplies every element by one in place, and so reads and writes every byte once. `limit` is a struct
 * memory_limit. */
ROTARY_CHECKED rotary_status memory_limit_scale(void *limit, rotary_error *error);
/* Reads every byte once. */
ROTARY_CHECKED rotary_status memory_limit_read(void *limit, rotary_error *error);

struct limits {
    double matmul_rate; /* operations per second of the matmul */
    double memory_rate; /* bytes per second, read and written, of scaling an array larger than any cache; on a
                         * device, of copying one */
};

/* Takes about half a second. */
ROTARY_CHECKED rotary_status limits_measure(const struct backend *backend, struct limits *limits,
                                            rotary_error *error);

#endif
