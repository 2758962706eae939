/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fail.h"
#include "benchmark/fill.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"
#include "benchmark/placed.h"
#include "benchmark/timed_terms.h"
#include "layer/encoding/position.h"

#include <stdlib.h>

const char *const attention_encoding_names[] = {"none",  "rope",           "roper",        "bias",
                                                "shaw",  "transformer-xl", "deberta",      "fire",
                                                "sinks", "scales",         "key-is-value", NULL};

/* Inputs and outputs of the calls, shared by all encodings. */
struct tensors {
    const struct attention_benchmark *benchmark;
    rotary_dtype dtype;
    rotary_attention_shape shape;
    int32_t *starts; /* of packed sequences, [batch + 1], in the host's memory; NULL: there are none */
    void *qkv, *qkv_gradient; /* [batch, time, 3, heads, head_dim], or [tokens, 3, heads, head_dim] */
    void *output, *output_gradient;
    float *log_sum_exp;
    struct timed_terms terms;
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
    rotary_status status = backend->operations->attention_forward(backend, &call, error);
    return status == ROTARY_OK ? benchmark_wait(backend, job->forward.log_sum_exp, error) : status;
}

static rotary_status run_forward_backward(void *argument, rotary_error *error)
{
    const struct attention_job *job = argument;
    const struct backend_attention_forward forward = {job->position.attention, &job->forward};
    const struct backend_attention_backward backward = {job->position.attention, &job->backward};
    const struct backend *backend = job->position.backend;
    rotary_status status = backend->operations->attention_forward(backend, &forward, error);
    if (status == ROTARY_OK)
        status = backend->operations->attention_backward(backend, &backward, error);
    return status == ROTARY_OK ? benchmark_wait(backend, job->forward.log_sum_exp, error) : status;
}

static rotary_status create_attention(struct attention_job *job, const struct attention_benchmark *benchmark,
                                      const struct backend *backend, enum attention_encoding encoding,
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
                                     .score_products = encoding == ATTENTION_DEBERTA ? 3 : 1,
                                     .key_is_value = encoding == ATTENTION_KEY_IS_VALUE};
    if (encoding == ATTENTION_ROPER || encoding == ATTENTION_KEY_IS_VALUE)
        config.value_rope = &rope;
    if (encoding == ATTENTION_SCALES) {
        rope.query_scale_beta = 0.1;
        rope.query_scale_length = (double)benchmark->time / 4;
    }
    if (config.value_rope || encoding == ATTENTION_ROPE || encoding == ATTENTION_SINKS ||
        encoding == ATTENTION_SCALES)
        config.rope = &rope;
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

static int64_t elements_of(const struct tensors *tensors)
{
    return tensors->shape.batch * tensors->shape.queries * tensors->benchmark->heads *
           tensors->benchmark->head_dim;
}

static void carve(void *context, struct rotary_arena *arena)
{
    struct tensors *tensors = context;
    const struct attention_benchmark *benchmark = tensors->benchmark;
    int64_t rows = tensors->shape.batch * tensors->shape.queries, count = elements_of(tensors);
    size_t size = rotary_dtype_size(tensors->dtype);
    tensors->qkv = rotary_arena_push(arena, 3 * count, size);
    tensors->qkv_gradient = rotary_arena_push(arena, 3 * count, size);
    tensors->output = rotary_arena_push(arena, count, size);
    tensors->output_gradient = rotary_arena_push(arena, count, size);
    tensors->log_sum_exp = rotary_arena_push(arena, rows * benchmark->heads, sizeof(float));
    tensors->terms.heads = benchmark->heads;
    tensors->terms.head_dim = benchmark->head_dim;
    tensors->terms.time = benchmark->time;
    timed_terms_carve(&tensors->terms, arena);
}

static void fill(void *context)
{
    const struct tensors *tensors = context;
    benchmark_fill(tensors->qkv, tensors->dtype, 3 * elements_of(tensors), 1);
    benchmark_fill(tensors->output_gradient, tensors->dtype, elements_of(tensors), 2);
    timed_terms_fill(&tensors->terms);
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
        .packed_sequences = packed,
    };
}

static rotary_status measure(struct attention_benchmark *benchmark, struct attention_job *jobs,
                             struct matmul_limit *matmul, const struct timing_plan *plan, rotary_error *error)
{
    /* The matmul evicts all tensors from the caches. It is the first item, and the last one in every other
     * round. The second brings them back, and is not looked at. */
    struct timing_item items[2 + 2 * ATTENTION_ENCODINGS] = {
        {.run = matmul_limit_run, .argument = matmul},
        {.run = run_forward, .argument = &jobs[ATTENTION_ROPE]}};
    struct timing_item *forward[ATTENTION_ENCODINGS] = {0}, *forward_backward[ATTENTION_ENCODINGS] = {0};
    int count = 2;
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        if (benchmark->wanted[i]) {
            forward[i] = &items[count++];
            *forward[i] = (struct timing_item){.run = run_forward, .argument = &jobs[i]};
        }
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        if (benchmark->wanted[i]) {
            forward_backward[i] = &items[count++];
            *forward_backward[i] = (struct timing_item){.run = run_forward_backward, .argument = &jobs[i]};
        }
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        if (benchmark->wanted[i]) {
            forward[i]->baseline = forward[ATTENTION_ROPE];
            forward_backward[i]->baseline = forward_backward[ATTENTION_ROPE];
        }
    rotary_status status = timing_run(items, count, plan, &benchmark->rounds, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        if (benchmark->wanted[i]) {
            struct attention_result *result = &benchmark->results[i];
            result->forward = forward[i]->timing;
            result->forward_backward = forward_backward[i]->timing;
            result->forward_ratio = forward[i]->ratio;
            result->forward_backward_ratio = forward_backward[i]->ratio;
        }
    benchmark->matmul_rate = matmul_limit_operations(matmul) / items[0].timing.best;
    return ROTARY_OK;
}

static rotary_status allocate_starts(struct tensors *tensors, rotary_error *error)
{
    const struct attention_benchmark *benchmark = tensors->benchmark;
    if (benchmark->shortest == 0)
        return ROTARY_OK;
    if (tensors->shape.queries > INT32_MAX)
        return rotary_fail_memory(error, "for packed sequences of %lld tokens",
                                  (long long)tensors->shape.queries);
    tensors->starts = calloc((size_t)benchmark->batch + 1, sizeof *tensors->starts);
    if (!tensors->starts)
        return rotary_fail_memory(error, "for packed sequences");
    for (int64_t sequence = 0; sequence < benchmark->batch; sequence++)
        tensors->starts[sequence + 1] = tensors->starts[sequence] + (int32_t)tokens_of(benchmark, sequence);
    return ROTARY_OK;
}

/* One workspace for all, as they run one after another. */
static rotary_status give_workspace(struct attention_benchmark *benchmark, struct attention_job *jobs,
                                    struct rotary_arena *arena, rotary_error *error)
{
    const struct backend *backend = jobs[ATTENTION_ROPE].position.backend;
    size_t largest = 0;
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        if (!benchmark->wanted[i])
            continue;
        const struct attention_plan *plan = jobs[i].position.attention;
        const size_t forward = backend->operations->attention_forward_bytes(plan, &jobs[i].forward),
                     backward = backend->operations->attention_backward_bytes(plan, &jobs[i].backward),
                     bytes = forward > backward ? forward : backward;
        benchmark->results[i].workspace_bytes = bytes;
        largest = bytes > largest ? bytes : largest;
    }
    rotary_arena_push(arena, (int64_t)largest, 1);
    rotary_status status =
        backend_arena_allocate(backend, arena, "the workspace of the attention benchmark", error);
    void *workspace = status == ROTARY_OK ? rotary_arena_push(arena, (int64_t)largest, 1) : NULL;
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        jobs[i].forward.workspace = jobs[i].backward.workspace = workspace;
    return status;
}

static rotary_status create_jobs(struct attention_job *jobs, const struct attention_benchmark *benchmark,
                                 const struct backend *backend, const struct tensors *tensors,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < ATTENTION_ENCODINGS && status == ROTARY_OK; i++) {
        if (!benchmark->wanted[i])
            continue;
        status = create_attention(&jobs[i], benchmark, backend, (enum attention_encoding)i, error);
        plan_calls(&jobs[i], benchmark, tensors, backend->storage);
        timed_terms_add(&tensors->terms, (enum attention_encoding)i, &jobs[i].forward, &jobs[i].backward);
    }
    return status;
}

static double operations_of(const struct attention_benchmark *benchmark)
{
    double operations = 0;
    for (int64_t sequence = 0; sequence < benchmark->batch; sequence++) {
        const double time = (double)tokens_of(benchmark, sequence);
        operations += 2.0 * (double)benchmark->heads * time * (time + 1.0) * (double)benchmark->head_dim;
    }
    return operations;
}

rotary_status benchmark_attention(struct attention_benchmark *benchmark, const struct backend *backend,
                                  const struct timing_plan *plan, rotary_error *error)
{
    struct attention_job jobs[ATTENTION_ENCODINGS] = {{.position = {0}}};
    struct tensors tensors = {
        .benchmark = benchmark, .dtype = backend->storage, .shape = shape_of(benchmark)};
    const struct placed_arrays arrays = {carve, fill, &tensors, "the tensors of the attention benchmark"};
    struct placed_arena memory = {0};
    struct rotary_arena workspace = {0};
    struct matmul_limit *matmul = NULL;
    benchmark->wanted[ATTENTION_ROPE] = true;
    benchmark->operations = operations_of(benchmark);
    rotary_status status = allocate_starts(&tensors, error);
    if (status == ROTARY_OK)
        status = placed_arena_create(&memory, backend, &arrays, error);
    if (status == ROTARY_OK)
        status = create_jobs(jobs, benchmark, backend, &tensors, error);
    if (status == ROTARY_OK)
        status = give_workspace(benchmark, jobs, &workspace, error);
    if (status == ROTARY_OK)
        status = matmul_limit_create(&matmul, backend, error);
    if (status == ROTARY_OK)
        status = measure(benchmark, jobs, matmul, plan, error);
    matmul_limit_destroy(matmul);
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        position_attention_destroy(&jobs[i].position);
    backend_arena_free(backend, &workspace);
    placed_arena_free(&memory);
    free(tensors.starts);
    return status;
}
