/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/limits.h"

#include "backend/backend.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "benchmark/fill.h"
#include "benchmark/placed.h"
#include "benchmark/timing.h"
#include "kernel/memory/memory_kernels.h"

#include <stdlib.h>
#include <string.h>

/* On the host: rows, inner and columns of matmuls of as many operations. Which one is fastest depends on the caches. */
enum { SHAPES = 3 };
static const int64_t matmul_shapes[SHAPES][3] = {{4096, 512, 2048}, {2048, 1024, 2048}, {1024, 2048, 2048}};
enum { MEMORY_BYTES = 1 << 28, MEMORY_BLOCK = 1 << 16 };

/* On a device, whose speed nobody knows before, sizes double until a run takes this long. */
static const double device_seconds = 1e-3;
enum { MIN_SIDE = 128, MAX_SIDE = 8192, MIN_COPY = 1 << 16, MAX_COPY = 1 << 30 };

/* ---- matmul ---- */

struct matmul_limit {
    const struct backend *backend;
    int64_t rows, inner, columns;
    struct placed_arena memory;
    struct matrix in, out;
    float *source;
    struct packed_weight *weight;
};

static void carve(void *context, struct rotary_arena *arena)
{
    struct matmul_limit *limit = context;
    rotary_dtype type = limit->backend->storage;
    size_t size = rotary_dtype_size(type);
    limit->in = matrix_of(rotary_arena_push(arena, limit->rows * limit->inner, size), type, limit->rows,
                          limit->inner);
    limit->out = matrix_of(rotary_arena_push(arena, limit->rows * limit->columns, size), type, limit->rows,
                           limit->columns);
    limit->source = rotary_arena_push(arena, limit->inner * limit->columns, sizeof(float));
}

/* Pages that were never written share one page of zeros, which is always in the caches. */
static void fill(void *context)
{
    const struct matmul_limit *limit = context;
    benchmark_fill(limit->in.data, limit->in.dtype, limit->rows * limit->inner, 1);
    benchmark_fill(limit->source, ROTARY_F32, limit->inner * limit->columns, 2);
}

static rotary_status create_matmul(struct matmul_limit **limit, const struct backend *backend,
                                   const int64_t shape[3], rotary_error *error)
{
    struct matmul_limit *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the matmul benchmark");
    *made =
        (struct matmul_limit){.backend = backend, .rows = shape[0], .inner = shape[1], .columns = shape[2]};
    const struct placed_arrays arrays = {carve, fill, made, "the matmul benchmark"};
    rotary_status status = placed_arena_create(&made->memory, backend, &arrays, error);
    if (status == ROTARY_OK) {
        const struct packed_weight_config config = {
            .dtype = backend->storage, .inner = made->inner, .columns = made->columns};
        status = backend->operations->packed_weight_create(backend, &made->weight, &config, error);
    }
    if (status == ROTARY_OK) {
        const struct backend_pack_weight call = {.weight = made->weight, .source = made->source};
        status = backend->operations->pack_weight(backend, &call, error);
    }
    if (status == ROTARY_OK)
        *limit = made;
    else
        matmul_limit_destroy(made);
    return status;
}

/* Seconds of a second run, which plans nothing more. */
static rotary_status time_second(rotary_status (*run)(void *argument, rotary_error *error), void *argument,
                                 double *seconds, rotary_error *error)
{
    rotary_status status = run(argument, error);
    const double begin = rotary_clock();
    if (status == ROTARY_OK)
        status = run(argument, error);
    *seconds = rotary_clock() - begin;
    return status;
}

static rotary_status create_fastest(struct matmul_limit **limit, const struct backend *backend,
                                    rotary_error *error)
{
    struct matmul_limit *made[SHAPES] = {0};
    struct timing_item items[SHAPES];
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < SHAPES && status == ROTARY_OK; i++) {
        status = create_matmul(&made[i], backend, matmul_shapes[i], error);
        items[i] = (struct timing_item){.run = matmul_limit_run, .argument = made[i]};
    }
    int64_t rounds;
    if (status == ROTARY_OK)
        status = timing_run(items, SHAPES, &(struct timing_plan){.min = 3, .max = 3}, &rounds, error);
    int best = 0;
    for (int i = 1; i < SHAPES && status == ROTARY_OK; i++)
        best = items[i].timing.best < items[best].timing.best ? i : best;
    for (int i = 0; i < SHAPES; i++) {
        if (i == best && status == ROTARY_OK)
            *limit = made[i];
        else
            matmul_limit_destroy(made[i]);
    }
    return status;
}

rotary_status matmul_limit_create(struct matmul_limit **limit, const struct backend *backend,
                                  rotary_error *error)
{
    if (backend->operations->on_host)
        return create_fastest(limit, backend, error);
    for (int64_t side = MIN_SIDE;; side *= 2) {
        double seconds = 0.0;
        rotary_status status = create_matmul(limit, backend, (const int64_t[]){side, side, side}, error);
        if (status == ROTARY_OK)
            status = time_second(matmul_limit_run, *limit, &seconds, error);
        if (status == ROTARY_OK && (seconds >= device_seconds || side == MAX_SIDE))
            return ROTARY_OK;
        matmul_limit_destroy(*limit);
        *limit = NULL;
        if (status != ROTARY_OK)
            return status;
    }
}

void matmul_limit_destroy(struct matmul_limit *limit)
{
    if (!limit)
        return;
    limit->backend->operations->packed_weight_destroy(limit->backend, limit->weight);
    placed_arena_free(&limit->memory);
    free(limit);
}

double matmul_limit_operations(const struct matmul_limit *limit)
{
    return 2.0 * (double)limit->rows * (double)limit->inner * (double)limit->columns;
}

rotary_status matmul_limit_run(void *limit, rotary_error *error)
{
    const struct matmul_limit *measured = limit;
    const struct backend *backend = measured->backend;
    const struct backend_matmul call = {.out = measured->out, .in = measured->in, .weight = measured->weight};
    rotary_status status = backend->operations->matmul(backend, &call, error);
    return status == ROTARY_OK ? benchmark_wait(backend, measured->out.data, error) : status;
}

/* ---- memory ---- */

/* Bytes of block `index`; the last block is rounded up to whole units. */
static int64_t block_bytes(const struct memory_limit *memory, int64_t index)
{
    int64_t left = memory->bytes - index * MEMORY_BLOCK;
    if (left >= MEMORY_BLOCK)
        return MEMORY_BLOCK;
    return round_up(left, MEMORY_LIMIT_UNIT);
}

static void for_each_block(struct memory_limit *memory, rotary_work *work)
{
    rotary_parallel_for(memory->threads, divide_up(memory->bytes, MEMORY_BLOCK), work, memory);
}

static void scale_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct memory_limit *memory = argument;
    memory_kernels_for(memory->isa)
        ->scale[memory->dtype]((char *)memory->data + index * MEMORY_BLOCK,
                               block_bytes(memory, index) / (int64_t)rotary_dtype_size(memory->dtype), 1.0f);
}

rotary_status memory_limit_scale(void *limit, rotary_error *error)
{
    (void)error;
    for_each_block(limit, scale_block);
    return ROTARY_OK;
}

static void read_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct memory_limit *memory = argument;
    uint32_t words = memory_kernels_for(memory->isa)
                         ->read((const char *)memory->data + index * MEMORY_BLOCK,
                                block_bytes(memory, index) / (int64_t)sizeof(uint32_t));
    __atomic_xor_fetch(&memory->words, words, __ATOMIC_RELAXED);
}

rotary_status memory_limit_read(void *limit, rotary_error *error)
{
    (void)error;
    struct memory_limit *memory = limit;
    memory->words = 0;
    for_each_block(memory, read_block);
    return ROTARY_OK;
}

/* ---- memory of a device ---- */

struct copy_limit {
    const struct backend *backend;
    struct rotary_arena arena;
    int64_t bytes;
    unsigned char *from, *to;
};

static rotary_status run_copy(void *argument, rotary_error *error)
{
    const struct copy_limit *limit = argument;
    const struct backend *backend = limit->backend;
    rotary_status status =
        backend->operations->copy(backend, limit->to, limit->from, (size_t)limit->bytes, error);
    return status == ROTARY_OK ? benchmark_wait(backend, limit->to, error) : status;
}

static rotary_status allocate_copy(struct copy_limit *limit, int64_t bytes, rotary_error *error)
{
    limit->bytes = bytes;
    rotary_arena_push(&limit->arena, 2, (size_t)bytes);
    rotary_status status =
        backend_arena_allocate(limit->backend, &limit->arena, "the array of the memory benchmark", error);
    if (status != ROTARY_OK)
        return status;
    limit->from = rotary_arena_push(&limit->arena, 1, (size_t)bytes);
    limit->to = rotary_arena_push(&limit->arena, 1, (size_t)bytes);
    return ROTARY_OK;
}

static rotary_status create_copy(struct copy_limit *limit, const struct backend *backend, rotary_error *error)
{
    *limit = (struct copy_limit){.backend = backend};
    for (int64_t bytes = MIN_COPY;; bytes *= 2) {
        double seconds = 0.0;
        rotary_status status = allocate_copy(limit, bytes, error);
        if (status == ROTARY_OK)
            status = time_second(run_copy, limit, &seconds, error);
        if (status != ROTARY_OK || seconds >= device_seconds || bytes == MAX_COPY)
            return status;
        backend_arena_free(backend, &limit->arena);
    }
}

/* ---- both ---- */

/* The rates of a matmul, items[0], and of a pass that reads and writes `bytes`, items[1]. */
static rotary_status time_limits(struct timing_item items[2], const struct matmul_limit *matmul, double bytes,
                                 struct limits *limits, rotary_error *error)
{
    int64_t rounds;
    const struct timing_plan plan = {.seconds = 0.5, .min = 5, .max = 20};
    rotary_status status = timing_run(items, 2, &plan, &rounds, error);
    if (status == ROTARY_OK)
        *limits = (struct limits){.matmul_rate = matmul_limit_operations(matmul) / items[0].timing.best,
                                  .memory_rate = 2.0 * bytes / items[1].timing.best};
    return status;
}

static rotary_status measure_device(const struct backend *backend, struct matmul_limit *matmul,
                                    struct limits *limits, rotary_error *error)
{
    struct copy_limit copy;
    struct timing_item items[] = {{.run = matmul_limit_run, .argument = matmul},
                                  {.run = run_copy, .argument = &copy}};
    rotary_status status = create_copy(&copy, backend, error);
    if (status == ROTARY_OK)
        status = time_limits(items, matmul, (double)copy.bytes, limits, error);
    backend_arena_free(backend, &copy.arena);
    return status;
}

static rotary_status measure_host(const struct backend *backend, struct matmul_limit *matmul,
                                  struct limits *limits, rotary_error *error)
{
    struct rotary_arena arena = {0};
    rotary_arena_push(&arena, MEMORY_BYTES, 1);
    rotary_status status = rotary_arena_allocate(&arena, "the array of the memory benchmark", error);
    if (status != ROTARY_OK)
        return status;
    struct memory_limit memory = {.isa = backend->isa,
                                  .threads = backend->threads,
                                  .dtype = ROTARY_F32,
                                  .data = rotary_arena_push(&arena, MEMORY_BYTES, 1),
                                  .bytes = MEMORY_BYTES};
    /* A pass that reads pages before it writes them would fault twice for each. */
    memset(memory.data, 0, MEMORY_BYTES);
    struct timing_item items[] = {{.run = matmul_limit_run, .argument = matmul},
                                  {.run = memory_limit_scale, .argument = &memory}};
    status = time_limits(items, matmul, MEMORY_BYTES, limits, error);
    rotary_arena_free(&arena);
    return status;
}

rotary_status limits_measure(const struct backend *backend, struct limits *limits, rotary_error *error)
{
    struct matmul_limit *matmul = NULL;
    rotary_status status = matmul_limit_create(&matmul, backend, error);
    if (status == ROTARY_OK)
        status = backend->operations->on_host ? measure_host(backend, matmul, limits, error)
                                              : measure_device(backend, matmul, limits, error);
    matmul_limit_destroy(matmul);
    return status;
}
