/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmarks on a CUDA device: their inputs are in its memory, filled as on the host, and each measures
 * something that can be.
 */
#include "base/half.h"
#include "benchmark/fill.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"
#include "benchmark/placed.h"
#include "cuda/cuda_backend.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

struct arrays {
    float *first, *second;
    const unsigned char *host; /* where they were filled */
};

static void carve(void *context, struct rotary_arena *arena)
{
    struct arrays *arrays = context;
    arrays->first = rotary_arena_push(arena, COUNT, sizeof(float));
    arrays->second = rotary_arena_push(arena, COUNT, sizeof(float));
}

static void fill(void *context)
{
    struct arrays *arrays = context;
    arrays->host = (const unsigned char *)arrays->first;
    benchmark_fill(arrays->first, ROTARY_F32, COUNT, 1);
    benchmark_fill(arrays->second, ROTARY_F32, COUNT, 2);
}

/* What is filled on the host is then elsewhere, and the same. */
static void test_placed(const struct backend *backend)
{
    static float wanted[COUNT], got[COUNT];
    struct arrays arrays = {0};
    const struct placed_arrays call = {carve, fill, &arrays, "a test"};
    struct placed_arena placed;
    CHECK_INT(placed_arena_create(&placed, backend, &call, NULL), ROTARY_OK);
    CHECK((const unsigned char *)arrays.first != arrays.host);
    for (int i = 0; i < 2; i++) {
        benchmark_fill(wanted, ROTARY_F32, COUNT, i == 0 ? 1 : 2);
        CHECK_INT(
            backend->operations->read(backend, got, i == 0 ? arrays.first : arrays.second, sizeof got, NULL),
            ROTARY_OK);
        CHECK(memcmp(wanted, got, sizeof got) == 0);
    }
    placed_arena_free(&placed);
}

static void check_rate(double rate)
{
    CHECK(isfinite(rate) && rate > 0.0);
}

static void test_limits(const struct backend *backend)
{
    struct limits limits = {0};
    CHECK_INT(limits_measure(backend, &limits, NULL), ROTARY_OK);
    check_rate(limits.matmul_rate);
    check_rate(limits.memory_rate);
}

/* Those of no encoding that is not wanted are made: a device may have no kernel for one. */
static void test_attention(const struct backend *backend)
{
    struct attention_benchmark benchmark = {
        .batch = 2, .heads = 2, .time = 24, .head_dim = 32, .shortest = 8};
    rotary_error error = {0};
    benchmark.wanted[ATTENTION_ROPER] = benchmark.wanted[ATTENTION_FIRE] = true;
    if (!CHECK_INT(benchmark_attention(&benchmark, backend,
                                       &(struct timing_plan){.seconds = 0.0, .min = 1, .max = 1}, &error),
                   ROTARY_OK))
        printf("%s\n", error.message);
    const enum attention_encoding wanted[] = {ATTENTION_ROPE, ATTENTION_ROPER, ATTENTION_FIRE};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct attention_result *result = &benchmark.results[wanted[i]];
        check_rate(1.0 / result->forward.median);
        check_rate(1.0 / result->forward_backward.median);
        CHECK(result->workspace_bytes > 0);
    }
    check_rate(benchmark.matmul_rate);
    CHECK(benchmark.results[ATTENTION_SHAW].workspace_bytes == 0);
}

int main(void)
{
    struct backend backend;
    CHECK_INT(cuda_backend_create(&backend, 1, rotary_isa_best(), PRECISION_BF16, NULL), ROTARY_OK);
    test_placed(&backend);
    test_limits(&backend);
    test_attention(&backend);
    backend_destroy(&backend);
    return check_report();
}
