/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention with caches, of the cuda backend: decoding, and what appends to caches, reorders and shifts them.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_places.h"

#include "attention/cache_checks.h"
#include "base/sized.h"

#include <stdlib.h>

/* ---- Keys that are the values. ---- */

/* The views of values become those of keys. */
static rotary_status share_caches(const struct attention_plan *plan, rotary_attention_view key,
                                  rotary_attention_view *value, rotary_error *error)
{
    return rotary_attention_share_written_keys(plan->checked, "value_cache", key, value, error);
}

static rotary_status share_step(const struct attention_plan *plan, rotary_attention_decode_call *call,
                                rotary_error *error)
{
    rotary_status status =
        rotary_attention_share_keys(plan->checked, "value", call->key, &call->value, error);
    return status ? status : share_caches(plan, call->key_cache, &call->value_cache, error);
}

/* ---- New tokens. ---- */

/* The tokens of a step, whose lengths are on the device too afterwards. */
static rotary_status place_step(const struct backend *backend, const struct attention_plan *plan,
                                const rotary_attention_decode_call *call, struct attention_places *places,
                                rotary_error *error)
{
    *places = (struct attention_places){
        .lengths = call->lengths,
        .batch = call->batch,
        .query_tokens = {.positions = call->positions,
                         .lengths = call->lengths,
                         .each = call->queries,
                         .count = call->batch * call->queries},
    };
    return cuda_attention_place(backend, plan, places, error);
}

static rotary_status append_rows(const struct backend *backend, const struct attention_plan *plan,
                                 const rotary_attention_decode_call *call,
                                 const struct attention_places *places, rotary_error *error)
{
    const struct cache_append append = {
        .batch = call->batch,
        .tokens = call->queries,
        .heads = plan->checked->key_value_heads,
        .head_dim = plan->checked->head_dim,
        .capacity = call->capacity,
        .lengths = places->lengths,
        .from = {call->key, call->value},
        .to = {call->key_cache, call->value_cache},
        .rotation = {cuda_attention_rotation_of(plan, &places->query_rows, ROTARY_ROTATE_KEY),
                     cuda_attention_rotation_of(plan, &places->query_rows, ROTARY_ROTATE_VALUE)},
        .caches = (unsigned)rotary_attention_caches(plan->checked),
        .bf16 = plan->checked->dtype == ROTARY_BF16,
    };
    return cuda_append_rows(backend, &append, error);
}

/* All that goes to the device goes to the backend's own memory. */
size_t cuda_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens)
{
    (void)plan;
    (void)batch;
    (void)tokens;
    return 0;
}

rotary_status cuda_attention_append(const struct backend *backend,
                                    const struct backend_attention_append *given, rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_append_call known = {0};
    struct attention_places places;
    rotary_status status =
        rotary_copy_sized(&known, sizeof known, given->call, "rotary_attention_append_call", error);
    rotary_attention_decode_call call = rotary_attention_decode_of_append(&known);
    if (status == ROTARY_OK)
        status = share_step(plan, &call, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_append(plan->checked, &call, 0, error);
    if (status || call.batch == 0 || call.queries == 0)
        return status;
    status = place_step(backend, plan, &call, &places, error);
    return status ? status : append_rows(backend, plan, &call, &places, error);
}

/* ---- Decoding. ---- */

static void carve_decode(const struct attention_plan *plan, struct cuda_attention *problem,
                         struct rotary_arena *arena)
{
    problem->packed.query = cuda_attention_push_rows(problem, problem->heads, problem->shape.queries,
                                                     rotary_dtype_size(plan->checked->dtype), arena);
}

size_t cuda_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                   int64_t capacity)
{
    const rotary_attention_shape shape = {.batch = batch, .queries = queries, .keys = capacity};
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape(shape, NULL))
        return 0;
    struct cuda_attention problem = cuda_attention_problem_of(plan, shape);
    carve_decode(plan, &problem, &arena);
    return arena.used;
}

static struct cuda_attention decode_problem(const struct attention_plan *plan,
                                            const rotary_attention_decode_call *call,
                                            const struct attention_places *places)
{
    struct cuda_attention problem = cuda_attention_problem_of(
        plan, (rotary_attention_shape){.batch = call->batch, .queries = call->queries});
    problem.lengths = places->lengths;
    problem.new_keys = call->key.data ? call->queries : 0;
    problem.capacity = call->capacity;
    problem.query = call->query;
    problem.key = rotary_attention_as_const(call->key_cache);
    problem.value = rotary_attention_as_const(call->value_cache);
    problem.output = call->output;
    problem.bias = call->bias;
    problem.distance_bias = call->distance_bias;
    problem.piecewise_bias = call->piecewise_bias;
    problem.distance_keys = call->distance_keys;
    problem.query_bias = call->query_bias;
    problem.distance_queries = call->distance_queries;
    problem.distance_values = call->distance_values;
    problem.sinks = call->sinks;
    problem.query_rotation = cuda_attention_rotation_of(plan, &places->query_rows, ROTARY_ROTATE_QUERY);
    problem.output_rotation = cuda_attention_rotation_of(plan, &places->query_rows, ROTARY_ROTATE_OUTPUT);
    return problem;
}

rotary_status cuda_attention_decode(const struct backend *backend,
                                    const struct backend_attention_decode *given, rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_decode_call call = {0};
    struct attention_places places;
    rotary_status status =
        rotary_copy_sized(&call, sizeof call, given->call, "rotary_attention_decode_call", error);
    const size_t bytes = cuda_attention_decode_bytes(plan, call.batch, call.queries, call.capacity);
    if (status == ROTARY_OK)
        status = share_step(plan, &call, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_decode(plan->checked, &call, bytes, error);
    if (status || call.batch == 0 || call.queries == 0)
        return status;
    status = place_step(backend, plan, &call, &places, error);
    if (status)
        return status;
    struct cuda_attention problem = decode_problem(plan, &call, &places);
    struct rotary_arena arena = rotary_arena_over(call.workspace, bytes);
    carve_decode(plan, &problem, &arena);
    if (problem.new_keys > 0)
        status = append_rows(backend, plan, &call, &places, error);
    if (status == ROTARY_OK)
        status = cuda_attention_pack(backend, &problem, error);
    return status ? status : cuda_attention_forward_rows(backend, &problem, error);
}

/* ---- Sequences that move. ---- */

size_t cuda_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch)
{
    (void)plan;
    (void)batch;
    return 0;
}

/* The most rows that any sequence takes from another. */
static int64_t moving_rows(const rotary_attention_reorder_call *call)
{
    int64_t rows = 0;
    for (int64_t b = 0; b < call->batch; b++)
        if (call->source[b] != b)
            rows = max_i64(rows, call->lengths ? min_i64(call->lengths[call->source[b]], call->capacity)
                                               : call->capacity);
    return rows;
}

rotary_status cuda_attention_reorder(const struct backend *backend,
                                     const struct backend_attention_reorder *given, rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_reorder_call call = {0};
    rotary_status status =
        rotary_copy_sized(&call, sizeof call, given->call, "rotary_attention_reorder_call", error);
    if (status == ROTARY_OK)
        status = share_caches(plan, call.key_cache, &call.value_cache, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_reorder(plan->checked, &call, 0, error);
    if (status == ROTARY_OK && call.batch > CUDA_ATTENTION_MAX_REORDER)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "caches of %lld sequences are reordered; on a CUDA device at most %d can be",
                           (long long)call.batch, CUDA_ATTENTION_MAX_REORDER);
    if (status || call.batch == 0 || moving_rows(&call) == 0)
        return status;
    struct attention_places places = {
        .lengths = call.lengths, .batch = call.batch, .source = call.source, .sources = call.batch};
    const struct cache_reorder reorder = {
        .batch = call.batch,
        .heads = plan->checked->key_value_heads,
        .head_dim = plan->checked->head_dim,
        .rows = moving_rows(&call),
        .capacity = call.capacity,
        .cache = {call.key_cache, call.value_cache},
        .caches = (unsigned)rotary_attention_caches(plan->checked),
        .bf16 = plan->checked->dtype == ROTARY_BF16,
    };
    status = cuda_attention_place(backend, plan, &places, error);
    if (status)
        return status;
    struct cache_reorder placed = reorder;
    placed.lengths = places.lengths;
    placed.source = places.source;
    return cuda_reorder_rows(backend, &placed, error);
}

/* ---- Tokens that leave. ---- */

/* The cosines and sines by which a shift rotates cached vectors are what it makes of pairs (1, 0). */
static rotary_status shift_row(const rotary_rope *rope, bool values, int64_t shift, float *row,
                               rotary_error *error)
{
    const struct rotary_span span = rotary_rope_span(rope);
    const int64_t pairs = span.dim / 2;
    float vector[CUDA_ATTENTION_MAX_WIDTH] = {0};
    for (int64_t pair = 0; pair < pairs; pair++)
        vector[span.start + rotary_rope_pair_channel(span.pairing, pairs, pair, 0)] = 1;
    const rotary_rope_tensor tensor = {
        .heads = 1,
        .input = {vector, ROTARY_F32, span.head_dim, span.head_dim, span.head_dim},
        .output = {vector, ROTARY_F32, span.head_dim, span.head_dim, span.head_dim}};
    rotary_rope_shift_call call = {.struct_size = sizeof call, .batch = 1, .time = 1, .shift = shift};
    *(values ? &call.value : &call.key) = tensor;
    rotary_status status = rotary_rope_shift(rope, &call, error);
    for (int64_t pair = 0; pair < pairs; pair++)
        for (int member = 0; member < 2; member++)
            row[member * pairs + pair] =
                vector[span.start + rotary_rope_pair_channel(span.pairing, pairs, pair, member)];
    return status;
}

/* Rows [batch, 2, pairs] of a cache, in device memory for this use. */
static rotary_status shift_rows(const struct backend *backend, const rotary_rope *rope, bool values,
                                const rotary_attention_shift_call *call,
                                struct cuda_attention_rotation *rotation, rotary_error *error)
{
    if (!rope)
        return ROTARY_OK;
    const struct rotary_span span = rotary_rope_span(rope);
    const int64_t floats = call->batch * span.dim;
    float *rows = malloc((size_t)floats * sizeof *rows);
    void *device = NULL;
    rotary_status status = rows ? ROTARY_OK : rotary_fail_memory(error, "for a shift of caches");
    for (int64_t b = 0; b < call->batch && status == ROTARY_OK; b++)
        status = shift_row(rope, values, -call->discard[b], rows + b * span.dim, error);
    if (status == ROTARY_OK)
        status = cuda_upload(backend, values ? CUDA_SCRATCH_SUMS : CUDA_SCRATCH_INDEX2, rows,
                             (size_t)floats * sizeof *rows, &device, error);
    free(rows);
    *rotation = (struct cuda_attention_rotation){
        .cosine = device,
        .sine = (const float *)device + span.dim / 2,
        .start = (int32_t)span.start,
        .pairs = (int32_t)(span.dim / 2),
        .row_stride = span.dim,
        .interleaved = span.pairing == ROTARY_PAIRING_INTERLEAVED,
    };
    return status;
}

rotary_status cuda_attention_shift(const struct backend *backend, const struct backend_attention_shift *given,
                                   rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_shift_call call = {0};
    rotary_status status =
        rotary_copy_sized(&call, sizeof call, given->call, "rotary_attention_shift_call", error);
    if (status == ROTARY_OK)
        status = share_caches(plan, call.key_cache, &call.value_cache, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_shift(plan->checked, &call, error);
    if (status || call.batch == 0)
        return status;
    struct attention_places places = {
        .lengths = call.lengths, .keep = call.keep, .discard = call.discard, .batch = call.batch};
    struct cache_shift shift = {
        .batch = call.batch,
        .heads = plan->checked->key_value_heads,
        .head_dim = plan->checked->head_dim,
        .cache = {call.key_cache, call.value_cache},
        .caches = (unsigned)rotary_attention_caches(plan->checked),
        .bf16 = plan->checked->dtype == ROTARY_BF16,
    };
    status = cuda_attention_place(backend, plan, &places, error);
    shift.lengths = places.lengths;
    shift.keep = places.keep;
    shift.discard = places.discard;
    if (status == ROTARY_OK)
        status = shift_rows(backend, plan->checked->rotated & ROTARY_ROTATE_KEY ? plan->checked->rope : NULL,
                            false, &call, &shift.rotation[0], error);
    if (status == ROTARY_OK)
        status = shift_rows(backend,
                            plan->checked->rotated & ROTARY_ROTATE_VALUE ? plan->checked->value_rope : NULL,
                            true, &call, &shift.rotation[1], error);
    return status ? status : cuda_shift_rows(backend, &shift, error);
}
