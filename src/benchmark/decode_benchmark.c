/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "benchmark/fill.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"
#include "layer/encoding/position.h"

const char *const decode_kind_names[] = {"decode step", "with sinks", "keys as values", NULL};

struct decode_job {
    struct position_attention position;
    rotary_attention_decode_call call;
};

struct tensors {
    void *cache; /* keys, then values: [2, batch, capacity, key_value_heads, head_dim] */
    void *query, *key, *value, *output;
    int64_t *lengths;
    float *sinks; /* [heads] */
    void *workspace;
    size_t workspace_bytes;
    int64_t cache_elements, query_elements, key_elements;
};

static rotary_status run_decode(void *argument, rotary_error *error)
{
    const struct decode_job *job = argument;
    const struct backend_attention_decode call = {job->position.attention, &job->call};
    const struct backend *backend = job->position.backend;
    return backend->operations->attention_decode(backend, &call, error);
}

static void carve(struct tensors *tensors, int64_t batch, rotary_dtype dtype, struct rotary_arena *arena)
{
    size_t size = rotary_dtype_size(dtype);
    tensors->cache = rotary_arena_push(arena, 2 * tensors->cache_elements + MEMORY_LIMIT_UNIT, size);
    tensors->query = rotary_arena_push(arena, tensors->query_elements, size);
    tensors->key = rotary_arena_push(arena, tensors->key_elements, size);
    tensors->value = rotary_arena_push(arena, tensors->key_elements, size);
    tensors->output = rotary_arena_push(arena, tensors->query_elements, size);
    tensors->lengths = rotary_arena_push(arena, batch, sizeof *tensors->lengths);
    tensors->sinks = rotary_arena_push(arena, tensors->query_elements / batch, sizeof *tensors->sinks);
    tensors->workspace = rotary_arena_push(arena, (int64_t)tensors->workspace_bytes, 1);
}

static rotary_status create_attention(struct position_attention *position,
                                      const struct decode_benchmark *benchmark, const struct backend *backend,
                                      enum decode_kind kind, rotary_error *error)
{
    rotary_rope_config rope;
    rotary_rope_config_default(&rope);
    rope.head_dim = benchmark->head_dim;
    rope.table_positions = 0;
    struct position_config config = {.heads = benchmark->heads,
                                     .key_value_heads = benchmark->key_value_heads,
                                     .head_dim = benchmark->head_dim,
                                     .causal = true,
                                     .rope = &rope,
                                     .key_is_value = kind == DECODE_KEY_IS_VALUE};
    if (config.key_is_value)
        config.value_rope = &rope;
    return position_attention_create(position, backend, &config, error);
}

static rotary_status allocate(struct tensors *tensors, const struct decode_benchmark *benchmark,
                              const struct decode_job jobs[DECODE_KINDS], struct rotary_arena *arena,
                              rotary_error *error)
{
    const struct backend *backend = jobs[DECODE_PLAIN].position.backend;
    rotary_dtype dtype = backend->storage;
    int64_t batch = benchmark->batch, capacity = benchmark->length + 1;
    tensors->key_elements = batch * benchmark->key_value_heads * benchmark->head_dim;
    tensors->query_elements = batch * benchmark->heads * benchmark->head_dim;
    tensors->cache_elements = capacity * tensors->key_elements;
    for (int kind = 0; kind < DECODE_KINDS; kind++) {
        const size_t bytes =
            backend->operations->attention_decode_bytes(jobs[kind].position.attention, batch, 1, capacity);
        tensors->workspace_bytes = bytes > tensors->workspace_bytes ? bytes : tensors->workspace_bytes;
    }
    carve(tensors, batch, dtype, arena);
    rotary_status status = rotary_arena_allocate(arena, "the KV caches of the decode benchmark", error);
    if (status != ROTARY_OK)
        return status;
    carve(tensors, batch, dtype, arena);
    benchmark_fill(tensors->cache, dtype, 2 * tensors->cache_elements, 1);
    benchmark_fill(tensors->query, dtype, tensors->query_elements, 2);
    benchmark_fill(tensors->key, dtype, tensors->key_elements, 3);
    benchmark_fill(tensors->value, dtype, tensors->key_elements, 4);
    benchmark_fill(tensors->sinks, ROTARY_F32, tensors->query_elements / batch, 5);
    for (int64_t sequence = 0; sequence < batch; sequence++)
        tensors->lengths[sequence] = benchmark->length;
    return ROTARY_OK;
}

static rotary_attention_decode_call plan_call(const struct decode_benchmark *benchmark,
                                              const struct tensors *tensors, rotary_dtype dtype,
                                              enum decode_kind kind)
{
    int64_t head = benchmark->head_dim, query_row = benchmark->heads * head,
            key_row = benchmark->key_value_heads * head, capacity = benchmark->length + 1;
    char *values = (char *)tensors->cache + (size_t)tensors->cache_elements * rotary_dtype_size(dtype);
    rotary_attention_decode_call call = {
        .struct_size = sizeof(rotary_attention_decode_call),
        .batch = benchmark->batch,
        .queries = 1,
        .capacity = capacity,
        .lengths = tensors->lengths,
        .query = {tensors->query, query_row, query_row, head},
        .key = {tensors->key, key_row, key_row, head},
        .value = {tensors->value, key_row, key_row, head},
        .key_cache = {tensors->cache, capacity * key_row, key_row, head},
        .value_cache = {values, capacity * key_row, key_row, head},
        .output = {tensors->output, query_row, query_row, head},
        .workspace = tensors->workspace,
    };
    if (kind == DECODE_SINKS)
        call.sinks = tensors->sinks;
    if (kind == DECODE_KEY_IS_VALUE) {
        call.value = (rotary_attention_const_view){0};
        call.value_cache = (rotary_attention_view){0};
    }
    return call;
}

static rotary_status measure(struct decode_benchmark *benchmark, struct decode_job jobs[DECODE_KINDS],
                             struct memory_limit *reading, const struct timing_plan *plan,
                             rotary_error *error)
{
    struct timing_item items[DECODE_KINDS + 1] = {
        [DECODE_KINDS] = {.run = memory_limit_read, .argument = reading}};
    for (int kind = 0; kind < DECODE_KINDS; kind++)
        items[kind] = (struct timing_item){
            .run = run_decode, .argument = &jobs[kind], .baseline = &items[DECODE_PLAIN]};
    rotary_status status = timing_run(items, DECODE_KINDS + 1, plan, &benchmark->rounds, error);
    for (int kind = 0; kind < DECODE_KINDS; kind++) {
        benchmark->decode[kind] = items[kind].timing;
        benchmark->ratio[kind] = items[kind].ratio;
    }
    benchmark->read = items[DECODE_KINDS].timing;
    return status;
}

rotary_status benchmark_decode(struct decode_benchmark *benchmark, const struct backend *backend,
                               const struct timing_plan *plan, rotary_error *error)
{
    struct decode_job jobs[DECODE_KINDS] = {{.position = {0}}};
    struct tensors tensors = {0};
    struct rotary_arena arena = {0};
    rotary_status status = ROTARY_OK;
    for (int kind = 0; status == ROTARY_OK && kind < DECODE_KINDS; kind++)
        status = create_attention(&jobs[kind].position, benchmark, backend, (enum decode_kind)kind, error);
    if (status == ROTARY_OK)
        status = allocate(&tensors, benchmark, jobs, &arena, error);
    if (status == ROTARY_OK) {
        int64_t size = (int64_t)rotary_dtype_size(backend->storage);
        struct memory_limit reading = {.isa = backend->isa,
                                       .threads = backend->threads,
                                       .dtype = backend->storage,
                                       .data = tensors.cache,
                                       .bytes = 2 * tensors.cache_elements * size};
        for (int kind = 0; kind < DECODE_KINDS; kind++)
            jobs[kind].call = plan_call(benchmark, &tensors, backend->storage, (enum decode_kind)kind);
        benchmark->bytes = (double)reading.bytes;
        status = measure(benchmark, jobs, &reading, plan, error);
    }
    for (int kind = 0; kind < DECODE_KINDS; kind++)
        position_attention_destroy(&jobs[kind].position);
    rotary_arena_free(&arena);
    return status;
}
