/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fail.h"
#include "benchmark/fill.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"
#include "layer/position.h"

#include <stdlib.h>

const char *const attention_rotation_names[] = {"none", "RoPE", "RoPER", "biased", NULL};

/* Inputs and outputs of the calls, shared by all rotations. */
struct tensors {
    rotary_attention_shape shape;
    int32_t *starts;          /* of packed sequences, [batch + 1] */
    void *qkv, *qkv_gradient; /* [batch, time, 3, heads, head_dim], or [tokens, 3, heads, head_dim] */
    void *output, *output_gradient;
    float *log_sum_exp;
    float *biases, *bias_gradient; /* [heads, 2 time - 1] */
    void *workspace;
    size_t workspace_bytes;
};

struct attention_job {
    struct position_attention position;
    rotary_attention_forward_call forward;
    rotary_attention_backward_call backward;
};

static rotary_status run_forward(void *argument, rotary_error *error)
{
    const struct attention_job *job = argument;
    const struct backend_attention_forward call = {job->position.attention, &job->forward};
    const struct backend *backend = job->position.backend;
    return backend->operations->attention_forward(backend, &call, error);
}

static rotary_status run_forward_backward(void *argument, rotary_error *error)
{
    const struct attention_job *job = argument;
    rotary_status status = run_forward(argument, error);
    if (status != ROTARY_OK)
        return status;
    const struct backend_attention_backward call = {job->position.attention, &job->backward};
    const struct backend *backend = job->position.backend;
    return backend->operations->attention_backward(backend, &call, error);
}

static rotary_status create_attention(struct attention_job *job, const struct attention_benchmark *benchmark,
                                      const struct backend *backend, enum attention_rotation rotation,
                                      rotary_error *error)
{
    rotary_rope_config rope;
    rotary_rope_config_default(&rope);
    rope.head_dim = benchmark->head_dim;
    rope.table_positions = benchmark->time;
    struct position_config config = {.heads = benchmark->heads,
                                     .key_value_heads = benchmark->heads,
                                     .head_dim = benchmark->head_dim,
                                     .causal = true,
                                     .rope = rotation == ATTENTION_NONE ? NULL : &rope,
                                     .value_rope = rotation == ATTENTION_ROPER ? &rope : NULL};
    return position_attention_create(&job->position, backend, &config, error);
}

/* The tokens of a sequence: packed ones have every length about as often. */
static int64_t tokens_of(const struct attention_benchmark *benchmark, int64_t sequence)
{
    if (benchmark->shortest == 0)
        return benchmark->time;
    return benchmark->shortest + sequence % (benchmark->time - benchmark->shortest + 1);
}

static rotary_attention_shape shape_of(const struct attention_benchmark *benchmark)
{
    rotary_attention_shape shape = {
        .batch = benchmark->batch, .queries = benchmark->time, .keys = benchmark->time};
    if (benchmark->shortest == 0)
        return shape;
    int64_t tokens = 0;
    for (int64_t sequence = 0; sequence < benchmark->batch; sequence++)
        tokens += tokens_of(benchmark, sequence);
    return (rotary_attention_shape){.batch = 1, .queries = tokens, .keys = tokens};
}

static int64_t distances_of(const struct attention_benchmark *benchmark)
{
    return 2 * benchmark->time - 1;
}

static void carve(struct tensors *tensors, const struct attention_benchmark *benchmark, rotary_dtype dtype,
                  struct rotary_arena *arena)
{
    int64_t rows = tensors->shape.batch * tensors->shape.queries,
            count = rows * benchmark->heads * benchmark->head_dim;
    size_t size = rotary_dtype_size(dtype);
    tensors->starts = rotary_arena_push(arena, benchmark->batch + 1, sizeof *tensors->starts);
    tensors->qkv = rotary_arena_push(arena, 3 * count, size);
    tensors->qkv_gradient = rotary_arena_push(arena, 3 * count, size);
    tensors->output = rotary_arena_push(arena, count, size);
    tensors->output_gradient = rotary_arena_push(arena, count, size);
    tensors->log_sum_exp = rotary_arena_push(arena, rows * benchmark->heads, sizeof(float));
    tensors->biases = rotary_arena_push(arena, benchmark->heads * distances_of(benchmark), sizeof(float));
    tensors->bias_gradient =
        rotary_arena_push(arena, benchmark->heads * distances_of(benchmark), sizeof(float));
    tensors->workspace = rotary_arena_push(arena, (int64_t)tensors->workspace_bytes, 1);
}

/* Fills in the calls. Each row holds query, key and value side by side, as a fused QKV projection gives them.
 */
static void plan_calls(struct attention_job *job, const struct attention_benchmark *benchmark,
                       const struct tensors *tensors, rotary_dtype dtype)
{
    rotary_attention_shape shape = tensors->shape;
    int64_t head = benchmark->head_dim, width = benchmark->heads * head, time = shape.queries;
    rotary_attention_packed_sequences packed = {.query_starts = tensors->starts,
                                                .sequences = benchmark->batch};
    if (benchmark->shortest == 0)
        packed = (rotary_attention_packed_sequences){0};
    size_t part = (size_t)width * rotary_dtype_size(dtype);
    const char *qkv = tensors->qkv;
    char *gradient = tensors->qkv_gradient;
    rotary_attention_const_view query = {qkv, 3 * time * width, 3 * width, head}, key = query, value = query,
                                output = {tensors->output, time * width, width, head},
                                output_gradient = output;
    rotary_attention_view query_gradient = {gradient, 3 * time * width, 3 * width, head},
                          key_gradient = query_gradient, value_gradient = query_gradient;
    key.data = qkv + part;
    value.data = qkv + 2 * part;
    output_gradient.data = tensors->output_gradient;
    key_gradient.data = gradient + part;
    value_gradient.data = gradient + 2 * part;
    job->forward = (rotary_attention_forward_call){
        .struct_size = sizeof job->forward,
        .shape = shape,
        .query = query,
        .key = key,
        .value = value,
        .output = {tensors->output, time * width, width, head},
        .log_sum_exp = tensors->log_sum_exp,
        .workspace = tensors->workspace,
        .packed_sequences = packed,
    };
    job->backward = (rotary_attention_backward_call){
        .struct_size = sizeof job->backward,
        .shape = shape,
        .query = query,
        .key = key,
        .value = value,
        .output = output,
        .output_gradient = output_gradient,
        .log_sum_exp = tensors->log_sum_exp,
        .query_gradient = query_gradient,
        .key_gradient = key_gradient,
        .value_gradient = value_gradient,
        .workspace = tensors->workspace,
        .packed_sequences = packed,
    };
}

static void add_bias(struct attention_job *job, const struct attention_benchmark *benchmark,
                     const struct tensors *tensors)
{
    int64_t distances = distances_of(benchmark);
    job->forward.distance_bias = (rotary_attention_distance_bias){
        tensors->biases, distances, 1 - benchmark->time, distances, tensors->bias_gradient};
    job->backward.distance_bias = job->forward.distance_bias;
}

static rotary_status measure(struct attention_benchmark *benchmark, struct attention_job *jobs,
                             struct matmul_limit *matmul, const struct timing_plan *plan, rotary_error *error)
{
    /* The matmul evicts all tensors from the caches. It is the first item, and the last one in every other
     * round, so items whose ratio is taken never follow it. */
    struct timing_item items[1 + 2 * ATTENTION_ROTATIONS] = {{.run = matmul_limit_run, .argument = matmul}};
    struct timing_item *forward = &items[1], *forward_backward = &items[1 + ATTENTION_ROTATIONS];
    for (int i = 0; i < ATTENTION_ROTATIONS; i++) {
        forward[i] = (struct timing_item){.run = run_forward, .argument = &jobs[i]};
        forward_backward[i] = (struct timing_item){.run = run_forward_backward, .argument = &jobs[i]};
    }
    forward[ATTENTION_ROPER].baseline = &forward[ATTENTION_ROPE];
    forward_backward[ATTENTION_ROPER].baseline = &forward_backward[ATTENTION_ROPE];
    forward[ATTENTION_BIASED].baseline = &forward[ATTENTION_ROPE];
    forward_backward[ATTENTION_BIASED].baseline = &forward_backward[ATTENTION_ROPE];
    rotary_status status = timing_run(items, 1 + 2 * ATTENTION_ROTATIONS, plan, &benchmark->rounds, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < ATTENTION_ROTATIONS; i++) {
        benchmark->forward[i] = forward[i].timing;
        benchmark->forward_backward[i] = forward_backward[i].timing;
    }
    benchmark->forward_ratio = forward[ATTENTION_ROPER].ratio.median;
    benchmark->forward_backward_ratio = forward_backward[ATTENTION_ROPER].ratio.median;
    benchmark->biased_forward_ratio = forward[ATTENTION_BIASED].ratio.median;
    benchmark->biased_forward_backward_ratio = forward_backward[ATTENTION_BIASED].ratio.median;
    benchmark->matmul_rate = matmul_limit_operations() / items[0].timing.best;
    return ROTARY_OK;
}

static void fill_starts(int32_t *starts, const struct attention_benchmark *benchmark)
{
    starts[0] = 0;
    for (int64_t sequence = 0; sequence < benchmark->batch; sequence++)
        starts[sequence + 1] = starts[sequence] + (int32_t)tokens_of(benchmark, sequence);
}

static void measure_workspace(struct tensors *tensors, const struct attention_benchmark *benchmark,
                              const struct attention_job *jobs, const int32_t *starts)
{
    rotary_attention_packed_sequences packed = {.query_starts = starts, .sequences = benchmark->batch};
    if (benchmark->shortest == 0)
        packed = (rotary_attention_packed_sequences){0};
    const rotary_attention_forward_call forward_call = {
        .struct_size = sizeof forward_call, .shape = tensors->shape, .packed_sequences = packed};
    float some = 0; /* whether there is a bias and its gradient matters, not where they are */
    const rotary_attention_backward_call backward_call = {
        .struct_size = sizeof backward_call,
        .shape = tensors->shape,
        .packed_sequences = packed,
        .distance_bias = {.data = &some, .gradient = &some}};
    for (int i = 0; i < ATTENTION_ROTATIONS; i++) {
        const struct backend_operations *operations = jobs[i].position.backend->operations;
        const struct attention_plan *plan = jobs[i].position.attention;
        size_t forward = operations->attention_forward_bytes(plan, &forward_call),
               backward = operations->attention_backward_bytes(plan, &backward_call),
               larger = forward > backward ? forward : backward;
        if (larger > tensors->workspace_bytes)
            tensors->workspace_bytes = larger;
    }
}

static rotary_status allocate(struct tensors *tensors, const struct attention_benchmark *benchmark,
                              const struct attention_job *jobs, rotary_dtype dtype,
                              struct rotary_arena *arena, rotary_error *error)
{
    tensors->shape = shape_of(benchmark);
    int32_t *starts = malloc((size_t)(benchmark->batch + 1) * sizeof *starts);
    if (!starts || tensors->shape.queries > INT32_MAX) {
        free(starts);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for packed sequences of %lld tokens",
                           (long long)tensors->shape.queries);
    }
    if (benchmark->shortest > 0)
        fill_starts(starts, benchmark);
    measure_workspace(tensors, benchmark, jobs, starts);
    free(starts);
    carve(tensors, benchmark, dtype, arena);
    rotary_status status = rotary_arena_allocate(arena, "the tensors of the attention benchmark", error);
    if (status != ROTARY_OK)
        return status;
    carve(tensors, benchmark, dtype, arena);
    if (benchmark->shortest > 0)
        fill_starts(tensors->starts, benchmark);
    int64_t count = tensors->shape.batch * tensors->shape.queries * benchmark->heads * benchmark->head_dim;
    benchmark_fill(tensors->qkv, dtype, 3 * count, 1);
    benchmark_fill(tensors->biases, ROTARY_F32, benchmark->heads * distances_of(benchmark), 3);
    benchmark_fill(tensors->output_gradient, dtype, count, 2);
    return ROTARY_OK;
}

rotary_status benchmark_attention(struct attention_benchmark *benchmark, const struct backend *backend,
                                  const struct timing_plan *plan, rotary_error *error)
{
    struct attention_job jobs[ATTENTION_ROTATIONS] = {{.position = {0}}};
    struct tensors tensors = {0};
    struct rotary_arena arena = {0};
    struct matmul_limit *matmul = NULL;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < ATTENTION_ROTATIONS && status == ROTARY_OK; i++)
        status = create_attention(&jobs[i], benchmark, backend, (enum attention_rotation)i, error);
    if (status == ROTARY_OK)
        status = allocate(&tensors, benchmark, jobs, backend->storage, &arena, error);
    if (status == ROTARY_OK)
        status = matmul_limit_create(&matmul, backend, error);
    if (status == ROTARY_OK) {
        for (int i = 0; i < ATTENTION_ROTATIONS; i++)
            plan_calls(&jobs[i], benchmark, &tensors, backend->storage);
        add_bias(&jobs[ATTENTION_BIASED], benchmark, &tensors);
        benchmark->operations = 0;
        for (int64_t sequence = 0; sequence < benchmark->batch; sequence++) {
            double time = (double)tokens_of(benchmark, sequence);
            benchmark->operations +=
                2.0 * (double)benchmark->heads * time * (time + 1.0) * (double)benchmark->head_dim;
        }
        status = measure(benchmark, jobs, matmul, plan, error);
    }
    matmul_limit_destroy(matmul);
    for (int i = 0; i < ATTENTION_ROTATIONS; i++)
        position_attention_destroy(&jobs[i].position);
    rotary_arena_free(&arena);
    return status;
}
