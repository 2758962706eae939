/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/limits.h"

#include "backend/backend.h"
#include "base/arena.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "benchmark/fill.h"
#include "benchmark/timing.h"
#include "kernel/memory/memory_kernels.h"

#include <stdlib.h>

enum { MATMUL_ROWS = 4096, MATMUL_INNER = 512, MATMUL_COLUMNS = 2048 };
enum { MEMORY_BYTES = 1 << 28, MEMORY_BLOCK = 1 << 16 };

/* ---- matmul ---- */

struct matmul_limit {
    const struct backend *backend;
    struct rotary_arena arena;
    struct matrix in, out;
    float *source;
    struct packed_weight *weight;
};

static void carve(struct matmul_limit *limit)
{
    rotary_dtype type = limit->backend->storage;
    size_t size = rotary_dtype_size(type);
    limit->in = matrix_of(rotary_arena_push(&limit->arena, MATMUL_ROWS * MATMUL_INNER, size), type,
                          MATMUL_ROWS, MATMUL_INNER);
    limit->out = matrix_of(rotary_arena_push(&limit->arena, MATMUL_ROWS * MATMUL_COLUMNS, size), type,
                           MATMUL_ROWS, MATMUL_COLUMNS);
    limit->source = rotary_arena_push(&limit->arena, MATMUL_INNER * MATMUL_COLUMNS, sizeof(float));
}

rotary_status matmul_limit_create(struct matmul_limit **limit, const struct backend *backend,
                                  rotary_error *error)
{
    struct matmul_limit *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the matmul benchmark");
    made->backend = backend;
    carve(made);
    rotary_status status = rotary_arena_allocate(&made->arena, "the matmul benchmark", error);
    if (status == ROTARY_OK) {
        carve(made);
        /* Pages that were never written share one page of zeros, which is always in the caches. */
        benchmark_fill(made->in.data, made->in.dtype, MATMUL_ROWS * MATMUL_INNER, 1);
        benchmark_fill(made->source, ROTARY_F32, MATMUL_INNER * MATMUL_COLUMNS, 2);
        const struct packed_weight_config config = {
            .dtype = backend->storage, .inner = MATMUL_INNER, .columns = MATMUL_COLUMNS};
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

void matmul_limit_destroy(struct matmul_limit *limit)
{
    if (!limit)
        return;
    limit->backend->operations->packed_weight_destroy(limit->backend, limit->weight);
    rotary_arena_free(&limit->arena);
    free(limit);
}

double matmul_limit_operations(void)
{
    return 2.0 * MATMUL_ROWS * MATMUL_INNER * MATMUL_COLUMNS;
}

rotary_status matmul_limit_run(void *limit, rotary_error *error)
{
    const struct matmul_limit *measured = limit;
    const struct backend *backend = measured->backend;
    const struct backend_matmul call = {.out = measured->out, .in = measured->in, .weight = measured->weight};
    return backend->operations->matmul(backend, &call, error);
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

/* ---- both ---- */

rotary_status limits_measure(const struct backend *backend, struct limits *limits, rotary_error *error)
{
    struct rotary_arena arena = {0};
    struct matmul_limit *matmul = NULL;
    rotary_arena_push(&arena, MEMORY_BYTES, 1);
    rotary_status status = rotary_arena_allocate(&arena, "the array of the memory benchmark", error);
    if (status == ROTARY_OK)
        status = matmul_limit_create(&matmul, backend, error);
    if (status == ROTARY_OK) {
        struct memory_limit memory = {.isa = backend->isa,
                                      .threads = backend->threads,
                                      .dtype = ROTARY_F32,
                                      .data = rotary_arena_push(&arena, MEMORY_BYTES, 1),
                                      .bytes = MEMORY_BYTES};
        struct timing_item items[] = {{.run = matmul_limit_run, .argument = matmul},
                                      {.run = memory_limit_scale, .argument = &memory}};
        int64_t rounds;
        status =
            timing_run(items, 2, &(struct timing_plan){.seconds = 0.5, .min = 5, .max = 20}, &rounds, error);
        *limits = (struct limits){.matmul_rate = matmul_limit_operations() / items[0].timing.best,
                                  .memory_rate = 2.0 * MEMORY_BYTES / items[1].timing.best};
    }
    matmul_limit_destroy(matmul);
    rotary_arena_free(&arena);
    return status;
}
