/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of the cuda backend: plans, and the forward and backward calls. What a call may be given and what
 * it means is in rotary/attention.h; the checks are librotary's.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_places.h"

#include "attention/attention_pass.h"
#include "attention/packed_sequences.h"
#include "base/sized.h"

#include <stdlib.h>

/* ---- Plans. ---- */

static rotary_status check_config(const rotary_attention_config *config, rotary_error *error)
{
    if (config->head_dim > CUDA_ATTENTION_MAX_WIDTH)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "heads have %lld channels; on a CUDA device attention has kernels for at most %d: use "
            "--device cpu",
            (long long)config->head_dim, CUDA_ATTENTION_MAX_WIDTH);
    return ROTARY_OK;
}

/* Writes the rows of a role to the device. */
static rotary_status make_table(const struct backend *backend, struct attention_plan *plan, int role,
                                rotary_error *error)
{
    const struct backend_operations *operations = backend->operations;
    const rotary_rope *rope = cuda_attention_rope_of(plan, role);
    int64_t floats = plan->positions * (rotary_rope_span(rope).dim / 2);
    size_t bytes = (size_t)floats * sizeof(float);
    void *device = NULL;
    float *rows = malloc(2 * bytes + 1);
    if (!rows)
        return rotary_fail_memory(error, "for a table of cosines and sines");
    rotary_rope_role_rows(rope, 0, plan->positions, (enum rotary_rope_role)role, rows, rows + floats);
    rotary_status status =
        operations->allocate(backend, &device, 2 * bytes, "a table of cosines and sines", error);
    if (status == ROTARY_OK) {
        plan->table[role] = (struct attention_table){device, (float *)device + floats};
        status = operations->write(backend, device, rows, 2 * bytes, error);
    }
    free(rows);
    return status;
}

static rotary_status make_tables(const struct backend *backend, struct attention_plan *plan,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    plan->positions = INT64_MAX;
    for (int role = 0; role < ROTARY_ROLES; role++)
        if (cuda_attention_rope_of(plan, role))
            plan->positions =
                min_i64(plan->positions, rotary_rope_table_positions(cuda_attention_rope_of(plan, role)));
    for (int role = 0; role < ROTARY_ROLES && status == ROTARY_OK; role++)
        if (cuda_attention_rope_of(plan, role) && (int)plan->checked->rows[role] == role)
            status = make_table(backend, plan, role, error);
    return status;
}

rotary_status cuda_attention_create(const struct backend *backend, struct attention_plan **plan,
                                    const rotary_attention_config *config, rotary_error *error)
{
    struct attention_plan *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a plan of attention");
    made->config = backend_attention_config(backend, config);
    rotary_status status = rotary_attention_create(&made->checked, &made->config, error);
    if (status == ROTARY_OK)
        status = check_config(config, error);
    if (status == ROTARY_OK)
        status = make_tables(backend, made, error);
    if (status == ROTARY_OK)
        *plan = made;
    else
        cuda_attention_destroy(backend, made);
    return status;
}

void cuda_attention_destroy(const struct backend *backend, struct attention_plan *plan)
{
    if (!plan)
        return;
    for (int role = 0; role < ROTARY_ROLES; role++)
        backend->operations->release(backend, plan->table[role].cosine);
    rotary_attention_destroy(plan->checked);
    free(plan);
}

const rotary_attention_config *cuda_attention_config(const struct attention_plan *plan)
{
    return &plan->config;
}

/* ---- Workspace. ---- */

void *cuda_attention_push_rows(const struct cuda_attention *problem, int64_t heads, int64_t time, size_t size,
                               struct rotary_arena *arena)
{
    int64_t rows = heads * (problem->shape.batch * time + CUDA_ATTENTION_PAD);
    return rotary_arena_push(arena, rows, (size_t)problem->width * size);
}

static void carve_forward(struct cuda_attention *problem, struct rotary_arena *arena)
{
    const size_t size = problem->bf16 ? sizeof(uint16_t) : sizeof(float);
    const rotary_attention_shape *shape = &problem->shape;
    problem->packed.query = cuda_attention_push_rows(problem, problem->heads, shape->queries, size, arena);
    problem->packed.key =
        cuda_attention_push_rows(problem, problem->key_value_heads, shape->keys, size, arena);
    problem->packed.value =
        problem->key_is_value
            ? problem->packed.key
            : cuda_attention_push_rows(problem, problem->key_value_heads, shape->keys, size, arena);
}

static void carve_backward(struct cuda_attention *problem, struct rotary_arena *arena)
{
    const size_t size = problem->bf16 ? sizeof(uint16_t) : sizeof(float);
    const rotary_attention_shape *shape = &problem->shape;
    carve_forward(problem, arena);
    problem->packed.output_gradient =
        cuda_attention_push_rows(problem, problem->heads, shape->queries, size, arena);
    problem->delta =
        rotary_arena_push(arena, shape->batch * problem->heads * shape->queries, sizeof *problem->delta);
    if (problem->distance_keys.data)
        problem->unrotated_query =
            cuda_attention_push_rows(problem, problem->heads, shape->queries, sizeof(float), arena);
    if (problem->distance_queries.data)
        problem->unrotated_key =
            cuda_attention_push_rows(problem, problem->key_value_heads, shape->keys, sizeof(float), arena);
}

struct cuda_attention cuda_attention_problem_of(const struct attention_plan *plan,
                                                rotary_attention_shape shape)
{
    const rotary_attention *attention = plan->checked;
    return (struct cuda_attention){
        .shape = shape,
        .heads = attention->heads,
        .key_value_heads = attention->key_value_heads,
        .head_dim = attention->head_dim,
        .width = attention->head_dim <= 32   ? 32
                 : attention->head_dim <= 64 ? 64
                                             : CUDA_ATTENTION_MAX_WIDTH,
        .window = attention->window,
        .scale = attention->scale,
        .softcap = attention->softcap,
        .bf16 = attention->dtype == ROTARY_BF16,
        .causal = attention->causal,
        .key_is_value = attention->key_is_value,
        .value_begin = attention->value_start,
        .value_end = attention->value_channels > 0 ? attention->value_start + attention->value_channels
                                                   : attention->head_dim,
        .sequences = shape.batch,
        .longest_queries = shape.queries,
        .longest_keys = shape.keys,
    };
}

size_t cuda_attention_forward_bytes(const struct attention_plan *plan,
                                    const rotary_attention_forward_call *given)
{
    rotary_attention_forward_call call = {0};
    struct rotary_arena arena = {0};
    if (rotary_copy_sized(&call, sizeof call, given, "rotary_attention_forward_call", NULL) ||
        rotary_attention_check_shape(call.shape, NULL))
        return 0;
    struct cuda_attention problem = cuda_attention_problem_of(plan, call.shape);
    carve_forward(&problem, &arena);
    return arena.used;
}

size_t cuda_attention_backward_bytes(const struct attention_plan *plan,
                                     const rotary_attention_backward_call *given)
{
    rotary_attention_backward_call call = {0};
    struct rotary_arena arena = {0};
    if (rotary_copy_sized(&call, sizeof call, given, "rotary_attention_backward_call", NULL) ||
        rotary_attention_check_shape(call.shape, NULL))
        return 0;
    struct cuda_attention problem = cuda_attention_problem_of(plan, call.shape);
    problem.distance_keys = call.distance_keys;
    problem.distance_queries = call.distance_queries;
    carve_backward(&problem, &arena);
    return arena.used;
}

/* ---- What the calls have in common. ---- */

/* librotary's checks would read the arrays of a piecewise bias, which are the device's. */
static const rotary_attention_piecewise_bias not_read = {0};

static int64_t longest_of(const int32_t *starts, int64_t sequences)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < sequences; i++)
        longest = max_i64(longest, starts[i + 1] - starts[i]);
    return longest;
}

static struct cuda_attention_dropout dropout_of(const rotary_attention_dropout *dropout)
{
    const struct rotary_attention_dropout_mask mask = rotary_attention_dropout_mask_of(dropout, 0);
    if (mask.threshold == 0) /* the seed, which is another one each step, is not read */
        return (struct cuda_attention_dropout){.scale = 1.0f};
    return (struct cuda_attention_dropout){mask.seed, mask.threshold, mask.scale, mask.sequence};
}

static void use_sequences(struct cuda_attention *problem, const struct attention_call *call,
                          struct attention_places *places)
{
    const rotary_attention_packed_sequences *packed = &call->packed_sequences;
    places->key_lengths = call->key_lengths;
    places->batch = call->shape.batch;
    if (!packed->query_starts)
        return;
    places->query_starts = packed->query_starts;
    places->key_starts = packed->key_starts ? packed->key_starts : packed->query_starts;
    places->starts = packed->sequences + 1;
    problem->sequences = packed->sequences;
    problem->longest_queries = longest_of(places->query_starts, packed->sequences);
    problem->longest_keys = longest_of(places->key_starts, packed->sequences);
}

/* Sets what the problem has from a call, and copies what of it is the host's. */
static rotary_status place_call(const struct backend *backend, const struct attention_plan *plan,
                                const struct attention_call *call, struct cuda_attention *problem,
                                rotary_error *error)
{
    const rotary_attention_shape *shape = &call->shape;
    struct attention_places places = {0};
    use_sequences(problem, call, &places);
    places.query_tokens = (struct placed_tokens){
        .positions = call->query_positions,
        .first = shape->first_query,
        .count = call->query_positions ? shape->batch * shape->queries : problem->longest_queries};
    if (!call->keys_rotated)
        places.key_tokens = (struct placed_tokens){.positions = call->key_positions,
                                                   .first = shape->first_key,
                                                   .count = call->key_positions ? shape->batch * shape->keys
                                                                                : problem->longest_keys};
    rotary_status status = cuda_attention_place(backend, plan, &places, error);
    if (status)
        return status;
    problem->query_starts = places.query_starts;
    problem->key_starts = places.key_starts;
    problem->key_lengths = places.key_lengths;
    problem->query_rotation = cuda_attention_rotation_of(plan, &places.query_rows, ROTARY_ROTATE_QUERY);
    problem->output_rotation = cuda_attention_rotation_of(plan, &places.query_rows, ROTARY_ROTATE_OUTPUT);
    if (!call->keys_rotated) {
        problem->key_rotation = cuda_attention_rotation_of(plan, &places.key_rows, ROTARY_ROTATE_KEY);
        problem->value_rotation = cuda_attention_rotation_of(plan, &places.key_rows, ROTARY_ROTATE_VALUE);
    }
    return ROTARY_OK;
}

/* The members that need no copy. */
static void use_call(struct cuda_attention *problem, const struct attention_call *call)
{
    problem->query = call->query;
    problem->key = call->key;
    problem->value = call->value;
    problem->bias = call->bias;
    problem->distance_bias = call->distance_bias;
    problem->distance_keys = call->distance_keys;
    problem->query_bias = call->query_bias;
    problem->distance_queries = call->distance_queries;
    problem->distance_values = call->distance_values;
    problem->dropout = dropout_of(&call->dropout);
    problem->sinks = call->sinks;
}

/* ---- Forward. ---- */

rotary_status cuda_attention_forward(const struct backend *backend,
                                     const struct backend_attention_forward *given, rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_forward_call call = {0};
    struct attention_call checked;
    rotary_status status = rotary_attention_read_forward(given->call, &call, &checked, error);
    if (status == ROTARY_OK)
        status = rotary_attention_share_keys(plan->checked, "value", checked.key, &checked.value, error);
    const size_t bytes = cuda_attention_forward_bytes(plan, given->call);
    checked.piecewise_bias = not_read;
    if (status == ROTARY_OK)
        status = rotary_attention_check_forward(plan->checked, &checked, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_workspace(call.workspace, bytes, error);
    if (status || call.shape.batch == 0 || call.shape.queries == 0)
        return status;
    struct cuda_attention problem = cuda_attention_problem_of(plan, call.shape);
    struct rotary_arena arena = rotary_arena_over(call.workspace, bytes);
    use_call(&problem, &checked);
    carve_forward(&problem, &arena);
    problem.piecewise_bias = call.piecewise_bias;
    problem.output = call.output;
    problem.log_sum_exp = call.log_sum_exp;
    status = place_call(backend, plan, &checked, &problem, error);
    if (status == ROTARY_OK)
        status = cuda_attention_pack(backend, &problem, error);
    return status ? status : cuda_attention_forward_rows(backend, &problem, error);
}

/* ---- Backward. ---- */

static rotary_status share_keys(const struct attention_plan *plan, rotary_attention_backward_call *call,
                                struct attention_call *checked, rotary_error *error)
{
    rotary_status status =
        rotary_attention_share_keys(plan->checked, "value", checked->key, &checked->value, error);
    return status ? status
                  : rotary_attention_share_written_keys(plan->checked, "value_gradient", call->key_gradient,
                                                        &call->value_gradient, error);
}

static rotary_status run_backward(const struct backend *backend, const struct cuda_attention *problem,
                                  rotary_error *error)
{
    rotary_status status = cuda_attention_pack(backend, problem, error);
    if (status == ROTARY_OK)
        status = cuda_attention_delta(backend, problem, error);
    if (status == ROTARY_OK)
        status = cuda_attention_backward_terms(backend, problem, error);
    if (status == ROTARY_OK)
        status = cuda_attention_backward_keys(backend, problem, error);
    return status ? status : cuda_attention_backward_queries(backend, problem, error);
}

rotary_status cuda_attention_backward(const struct backend *backend,
                                      const struct backend_attention_backward *given, rotary_error *error)
{
    const struct attention_plan *plan = given->plan;
    rotary_attention_backward_call call = {0};
    struct attention_call checked;
    rotary_status status = rotary_attention_read_backward(given->call, &call, &checked, error);
    if (status == ROTARY_OK)
        status = share_keys(plan, &call, &checked, error);
    const size_t bytes = cuda_attention_backward_bytes(plan, given->call);
    checked.piecewise_bias = not_read;
    if (status == ROTARY_OK)
        status = rotary_attention_check_backward(plan->checked, &checked, error);
    if (status == ROTARY_OK)
        status = rotary_attention_check_workspace(call.workspace, bytes, error);
    if (status || call.shape.batch == 0)
        return status;
    struct cuda_attention problem = cuda_attention_problem_of(plan, call.shape);
    struct rotary_arena arena = rotary_arena_over(call.workspace, bytes);
    use_call(&problem, &checked);
    carve_backward(&problem, &arena);
    problem.piecewise_bias = call.piecewise_bias;
    problem.saved_output = call.output;
    problem.output_gradient = call.output_gradient;
    problem.query_gradient = call.query_gradient;
    problem.key_gradient = call.key_gradient;
    problem.value_gradient = call.value_gradient;
    problem.query_bias_gradient = call.query_bias_gradient;
    problem.sinks_gradient = call.sinks_gradient;
    problem.log_sum_exp = (float *)(uintptr_t)call.log_sum_exp; /* kernels of this pass read it */
    status = place_call(backend, plan, &checked, &problem, error);
    return status ? status : run_backward(backend, &problem, error);
}
