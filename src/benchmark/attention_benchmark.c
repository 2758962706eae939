/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fail.h"
#include "base/integer.h"
#include "benchmark/fill.h"
#include "benchmark/library.h"
#include "benchmark/limits.h"
#include "layer/position.h"

#include <stdlib.h>

const char *const attention_encoding_names[] = {"none", "RoPE",           "RoPER",   "biased",
                                                "Shaw", "Transformer-XL", "DeBERTa", NULL};

/* Shaw's base model clips distances there. */
enum { SHAW_CLIP = 16 };

/* Inputs and outputs of the calls, shared by all encodings. */
struct tensors {
    rotary_attention_shape shape;
    int32_t *starts;          /* of packed sequences, [batch + 1] */
    void *qkv, *qkv_gradient; /* [batch, time, 3, heads, head_dim], or [tokens, 3, heads, head_dim] */
    void *output, *output_gradient;
    float *log_sum_exp;
    float *biases, *bias_gradient; /* [heads, 2 time - 1] */
    /* [time, heads, head_dim], of which Shaw's are the first; gradients of two tables; [heads, head_dim]. */
    float *vectors, *vector_gradients[2], *query_bias, *query_bias_gradient;
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
                                      const struct backend *backend, enum attention_encoding encoding,
                                      rotary_error *error)
{
    rotary_rope_config rope;
    rotary_rope_config_default(&rope);
    rope.head_dim = benchmark->head_dim;
    rope.table_positions = benchmark->time;
    bool rotates = encoding == ATTENTION_ROPE || encoding == ATTENTION_ROPER || encoding == ATTENTION_BIASED;
    struct position_config config = {.heads = benchmark->heads,
                                     .key_value_heads = benchmark->heads,
                                     .head_dim = benchmark->head_dim,
                                     .causal = true,
                                     .score_products = encoding == ATTENTION_DEBERTA ? 3 : 1,
                                     .rope = rotates ? &rope : NULL,
                                     .value_rope = encoding == ATTENTION_ROPER ? &rope : NULL};
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
    int64_t channels = benchmark->heads * benchmark->head_dim, vectors = benchmark->time * channels;
    tensors->vectors = rotary_arena_push(arena, vectors, sizeof(float));
    for (int i = 0; i < 2; i++)
        tensors->vector_gradients[i] = rotary_arena_push(arena, vectors, sizeof(float));
    tensors->query_bias = rotary_arena_push(arena, channels, sizeof(float));
    tensors->query_bias_gradient = rotary_arena_push(arena, channels, sizeof(float));
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

static void add_vectors(struct attention_job *job, const struct attention_benchmark *benchmark,
                        enum attention_encoding encoding, const struct tensors *tensors)
{
    int64_t dim = benchmark->head_dim, shaw = min_i64(SHAW_CLIP, benchmark->time - 1);
    rotary_attention_distance_vectors keys = {tensors->vectors,       benchmark->time,
                                              1 - benchmark->time,    dim,
                                              benchmark->heads * dim, tensors->vector_gradients[0]};
    if (encoding == ATTENTION_SHAW)
        keys = (rotary_attention_distance_vectors){
            tensors->vectors, shaw + 1, -shaw, 0, dim, tensors->vector_gradients[0]};
    rotary_attention_distance_vectors others = keys;
    others.gradient = tensors->vector_gradients[1];
    job->forward.distance_keys = job->backward.distance_keys = keys;
    if (encoding == ATTENTION_SHAW)
        job->forward.distance_values = job->backward.distance_values = others;
    if (encoding == ATTENTION_DEBERTA)
        job->forward.distance_queries = job->backward.distance_queries = others;
    if (encoding == ATTENTION_TRANSFORMER_XL) {
        job->forward.query_bias = job->backward.query_bias = tensors->query_bias;
        job->backward.query_bias_gradient = tensors->query_bias_gradient;
    }
}

/* The terms by distance that an encoding has. */
static void add_terms(struct attention_job *job, const struct attention_benchmark *benchmark,
                      enum attention_encoding encoding, const struct tensors *tensors)
{
    int64_t distances = distances_of(benchmark);
    if (encoding == ATTENTION_BIASED)
        job->forward.distance_bias = job->backward.distance_bias = (rotary_attention_distance_bias){
            tensors->biases, distances, 1 - benchmark->time, distances, tensors->bias_gradient};
    if (encoding == ATTENTION_SHAW || encoding == ATTENTION_TRANSFORMER_XL || encoding == ATTENTION_DEBERTA)
        add_vectors(job, benchmark, encoding, tensors);
}

static rotary_status measure(struct attention_benchmark *benchmark, struct attention_job *jobs,
                             struct matmul_limit *matmul, const struct timing_plan *plan, rotary_error *error)
{
    /* The matmul evicts all tensors from the caches. It is the first item, and the last one in every other
     * round, so items whose ratio is taken never follow it. */
    struct timing_item items[1 + 2 * ATTENTION_ENCODINGS] = {{.run = matmul_limit_run, .argument = matmul}};
    struct timing_item *forward = &items[1], *forward_backward = &items[1 + ATTENTION_ENCODINGS];
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        forward[i] = (struct timing_item){.run = run_forward, .argument = &jobs[i]};
        forward_backward[i] = (struct timing_item){.run = run_forward_backward, .argument = &jobs[i]};
    }
    for (int i = ATTENTION_ROPE + 1; i < ATTENTION_ENCODINGS; i++) {
        forward[i].baseline = &forward[ATTENTION_ROPE];
        forward_backward[i].baseline = &forward_backward[ATTENTION_ROPE];
    }
    rotary_status status = timing_run(items, 1 + 2 * ATTENTION_ENCODINGS, plan, &benchmark->rounds, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        benchmark->forward[i] = forward[i].timing;
        benchmark->forward_backward[i] = forward_backward[i].timing;
        benchmark->forward_ratio[i] = forward[i].ratio;
        benchmark->forward_backward_ratio[i] = forward_backward[i].ratio;
    }
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
    float some = 0; /* whether there are terms and their gradients matters, not where they are */
    const struct tensors unread = {.biases = &some,
                                   .bias_gradient = &some,
                                   .vectors = &some,
                                   .vector_gradients = {&some, &some},
                                   .query_bias = &some,
                                   .query_bias_gradient = &some};
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        struct attention_job calls = {.forward = {.struct_size = sizeof calls.forward,
                                                  .shape = tensors->shape,
                                                  .packed_sequences = packed},
                                      .backward = {.struct_size = sizeof calls.backward,
                                                   .shape = tensors->shape,
                                                   .packed_sequences = packed}};
        add_terms(&calls, benchmark, (enum attention_encoding)i, &unread);
        const struct backend_operations *operations = jobs[i].position.backend->operations;
        const struct attention_plan *plan = jobs[i].position.attention;
        size_t forward = operations->attention_forward_bytes(plan, &calls.forward),
               backward = operations->attention_backward_bytes(plan, &calls.backward),
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
    int64_t channels = benchmark->heads * benchmark->head_dim;
    benchmark_fill(tensors->vectors, ROTARY_F32, benchmark->time * channels, 4);
    benchmark_fill(tensors->query_bias, ROTARY_F32, channels, 5);
    benchmark_fill(tensors->biases, ROTARY_F32, benchmark->heads * distances_of(benchmark), 3);
    benchmark_fill(tensors->output_gradient, dtype, count, 2);
    return ROTARY_OK;
}

rotary_status benchmark_attention(struct attention_benchmark *benchmark, const struct backend *backend,
                                  const struct timing_plan *plan, rotary_error *error)
{
    struct attention_job jobs[ATTENTION_ENCODINGS] = {{.position = {0}}};
    struct tensors tensors = {0};
    struct rotary_arena arena = {0};
    struct matmul_limit *matmul = NULL;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < ATTENTION_ENCODINGS && status == ROTARY_OK; i++)
        status = create_attention(&jobs[i], benchmark, backend, (enum attention_encoding)i, error);
    if (status == ROTARY_OK)
        status = allocate(&tensors, benchmark, jobs, backend->storage, &arena, error);
    if (status == ROTARY_OK)
        status = matmul_limit_create(&matmul, backend, error);
    if (status == ROTARY_OK) {
        for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
            plan_calls(&jobs[i], benchmark, &tensors, backend->storage);
            add_terms(&jobs[i], benchmark, (enum attention_encoding)i, &tensors);
        }
        benchmark->operations = 0;
        for (int64_t sequence = 0; sequence < benchmark->batch; sequence++) {
            double time = (double)tokens_of(benchmark, sequence);
            benchmark->operations +=
                2.0 * (double)benchmark->heads * time * (time + 1.0) * (double)benchmark->head_dim;
        }
        status = measure(benchmark, jobs, matmul, plan, error);
    }
    matmul_limit_destroy(matmul);
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        position_attention_destroy(&jobs[i].position);
    rotary_arena_free(&arena);
    return status;
}
