/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"

struct rope_job {
    const rotary_rope *rope;
    rotary_rope_apply_call call;
};

static rotary_status run_rope(void *argument, rotary_error *error)
{
    const struct rope_job *job = argument;
    return rotary_rope_apply(job->rope, &job->call, error);
}

static rotary_status create_rope(rotary_rope **rope, const struct rope_benchmark *benchmark,
                                 const struct backend *backend, rotary_error *error)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = benchmark->head_dim;
    config.pairing = benchmark->pairing;
    config.table_positions = benchmark->time;
    config.threads = backend->threads;
    config.isa = backend->isa;
    return rotary_rope_create(rope, &config, error);
}

rotary_status benchmark_rope(struct rope_benchmark *benchmark, const struct backend *backend,
                             const struct timing_plan *plan, rotary_error *error)
{
    int64_t row = benchmark->heads * benchmark->head_dim, count = benchmark->time * row;
    int64_t bytes = count * (int64_t)rotary_dtype_size(benchmark->dtype);
    struct rotary_arena arena = {0};
    rotary_arena_push(&arena, bytes + MEMORY_LIMIT_UNIT, 1);
    rotary_status status = rotary_arena_allocate(&arena, "the tensor of the rotation benchmark", error);
    rotary_rope *rope = NULL;
    if (status == ROTARY_OK)
        status = create_rope(&rope, benchmark, backend, error);
    if (status == ROTARY_OK) {
        void *data = rotary_arena_push(&arena, bytes + MEMORY_LIMIT_UNIT, 1);
        struct rope_job job = {.rope = rope,
                               .call = {.struct_size = sizeof job.call, .batch = 1, .time = benchmark->time}};
        job.call.query = (rotary_rope_tensor){
            .heads = benchmark->heads,
            .input = {data, benchmark->dtype, 0, row, benchmark->head_dim},
            .output = {data, benchmark->dtype, 0, row, benchmark->head_dim},
        };
        struct memory_limit scaling = {.isa = backend->isa,
                                       .threads = backend->threads,
                                       .dtype = benchmark->dtype,
                                       .data = data,
                                       .bytes = bytes};
        struct timing_item items[] = {{.run = run_rope, .argument = &job},
                                      {.run = memory_limit_scale, .argument = &scaling}};
        status = timing_run(items, 2, plan, &benchmark->rounds, error);
        benchmark->rotate = items[0].timing;
        benchmark->scale = items[1].timing;
        benchmark->bytes = 2.0 * (double)bytes;
    }
    rotary_rope_destroy(rope);
    rotary_arena_free(&arena);
    return status;
}
