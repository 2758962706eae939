/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of the reference backend: every score of a head in double, nothing in tiles.
 */
#include "backend/reference_operations.h"

#include "backend/reference_scores.h"
#include "base/element.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of a view ---- */

/* Head `head` of the tokens first ... first + count - 1 of a batch entry. Token i is rotated to positions[i]
 * or, where that is NULL, to position + i. */
struct rows {
    int64_t entry, first, count, head, position;
    const int32_t *positions;
};

static int64_t position_of(struct rows rows, int64_t row)
{
    return rows.positions ? rows.positions[row] : rows.position + row;
}

static int64_t element_of(rotary_attention_const_view view, struct rows rows, int64_t row)
{
    return rows.entry * view.batch_stride + (rows.first + row) * view.time_stride +
           rows.head * view.head_stride;
}

static double *load_rows(const struct attention_plan *plan, rotary_attention_const_view view,
                         struct rows rows, const struct reference_rotation_plan *rotation)
{
    int64_t dim = plan->config.head_dim;
    double *to = reference_doubles(rows.count * dim);
    for (int64_t row = 0; row < rows.count; row++) {
        for (int64_t i = 0; i < dim; i++)
            to[row * dim + i] =
                (double)rotary_element(view.data, element_of(view, rows, row) + i, plan->config.dtype);
        if (rotation)
            reference_rotate(rotation, to + row * dim, position_of(rows, row), REFERENCE_ROTATE);
    }
    return to;
}

static rotary_attention_const_view readable(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

static void store_row(const struct attention_plan *plan, rotary_attention_view view, struct rows rows,
                      int64_t row, const double *from)
{
    for (int64_t i = 0; i < plan->config.head_dim; i++)
        rotary_set_element(view.data, element_of(readable(view), rows, row) + i, plan->config.dtype,
                           (float)from[i]);
}

static void rotate_back(const struct attention_plan *plan, struct rows rows,
                        const struct reference_rotation_plan *rotation, double *values)
{
    for (int64_t row = 0; row < rows.count; row++)
        reference_rotate(rotation, values + row * plan->config.head_dim, position_of(rows, row),
                         REFERENCE_TRANSPOSED);
}

/* Stores rows rotated back: what is outside attention is not rotated. Frees `from`. */
static void store_rows(const struct attention_plan *plan, rotary_attention_view view, struct rows rows,
                       const struct reference_rotation_plan *rotation, double *from)
{
    rotate_back(plan, rows, rotation, from);
    for (int64_t row = 0; row < rows.count; row++)
        store_row(plan, view, rows, row, from + row * plan->config.head_dim);
    free(from);
}

/* ---- plans ---- */

rotary_status reference_attention_create(const struct backend *backend, struct attention_plan **plan,
                                         const rotary_attention_config *config, rotary_error *error)
{
    struct attention_plan *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for attention");
    made->config = *config;
    made->config.dtype = backend->storage;
    if (config->scale == 0.0f)
        made->config.scale = (float)(1.0 / sqrt((double)config->head_dim));
    const unsigned rotate = config->rotate ? config->rotate : ~0u;
    /* Keys that are values are rotated where either is named. */
    const unsigned shared = config->key_is_value && (rotate & ROTARY_ROTATE_VALUE) ? ROTARY_ROTATE_KEY : 0;
    const rotary_rope *key = (rotate | shared) & ROTARY_ROTATE_KEY ? config->rope : NULL,
                      *value = rotate & ROTARY_ROTATE_VALUE ? config->value_rope : NULL;
    rotary_status status = reference_rotation_plan_create(
        &made->query_rotation, rotate & ROTARY_ROTATE_QUERY ? config->rope : NULL, ROTARY_ROLE_QUERY, error);
    if (status == ROTARY_OK)
        status = reference_rotation_plan_create(&made->key_rotation, key, ROTARY_ROLE_KEY, error);
    if (status == ROTARY_OK)
        status = reference_rotation_plan_create(&made->value_rotation, value, ROTARY_ROLE_VALUE, error);
    if (config->key_is_value)
        made->value_rotation = made->key_rotation;
    if (status == ROTARY_OK)
        status = reference_rotation_plan_create(&made->output_rotation,
                                                rotate & ROTARY_ROTATE_OUTPUT ? config->value_rope : NULL,
                                                ROTARY_ROLE_VALUE, error);
    if (status == ROTARY_OK)
        *plan = made;
    else
        free(made);
    return status;
}

void reference_attention_destroy(const struct backend *backend, struct attention_plan *plan)
{
    (void)backend;
    free(plan);
}

const rotary_attention_config *reference_attention_config(const struct attention_plan *plan)
{
    return &plan->config;
}

/* A workspace is overwritten with NaN before an operation and after it. */
static void spoil(const struct backend *backend, void *workspace, size_t bytes)
{
    reference_check_array(backend, workspace, 1, bytes, "workspace of attention");
    memset(workspace, 0xff, bytes);
}

static size_t workspace_bytes(const struct attention_plan *plan, rotary_attention_shape shape)
{
    return (size_t)(shape.batch * plan->config.heads * (shape.queries + shape.keys)) * sizeof(double);
}

size_t reference_attention_forward_bytes(const struct attention_plan *plan,
                                         const rotary_attention_forward_call *call)
{
    return workspace_bytes(plan, call->shape);
}

size_t reference_attention_backward_bytes(const struct attention_plan *plan,
                                          const rotary_attention_backward_call *call)
{
    return workspace_bytes(plan, call->shape);
}

size_t reference_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                        int64_t capacity)
{
    return (size_t)(batch * plan->config.heads * (queries + capacity)) * sizeof(double);
}

size_t reference_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens)
{
    return (size_t)(batch * tokens * plan->config.key_value_heads) * sizeof(double);
}

static void check_view(const struct backend *backend, const struct attention_plan *plan,
                       rotary_attention_const_view view, const int64_t shape[3], const char *what)
{
    const int64_t strides[] = {view.batch_stride, view.time_stride, view.head_stride};
    int64_t elements = plan->config.head_dim;
    for (int i = 0; i < 3; i++)
        elements += (shape[i] - 1) * strides[i];
    reference_check_array(backend, view.data, elements, rotary_dtype_size(plan->config.dtype), what);
}

/* ---- forward and backward ---- */

/* One sequence of a call: a batch entry, or some rows of the only one. */
struct sequence {
    int64_t entry, first_query_row, queries, first_key_row, keys;
    int64_t key_length; /* keys that are attended to */
};

static int64_t sequences_of(const rotary_attention_forward_call *call)
{
    return call->packed_sequences.query_starts ? call->packed_sequences.sequences : call->shape.batch;
}

static struct sequence sequence_of(const rotary_attention_forward_call *call, int64_t s)
{
    const rotary_attention_packed_sequences *packed = &call->packed_sequences;
    const int32_t *queries = packed->query_starts, *keys = packed->key_starts ? packed->key_starts : queries;
    if (queries)
        return (struct sequence){.first_query_row = queries[s],
                                 .queries = queries[s + 1] - queries[s],
                                 .first_key_row = keys[s],
                                 .keys = keys[s + 1] - keys[s],
                                 .key_length = keys[s + 1] - keys[s]};
    return (struct sequence){.entry = s,
                             .queries = call->shape.queries,
                             .keys = call->shape.keys,
                             .key_length = call->key_lengths ? call->key_lengths[s] : call->shape.keys};
}

static struct rows query_rows(const rotary_attention_forward_call *call, struct sequence sequence,
                              int64_t head)
{
    struct rows rows = {.entry = sequence.entry,
                        .first = sequence.first_query_row,
                        .count = sequence.queries,
                        .head = head,
                        .position = call->shape.first_query};
    if (call->query_positions)
        rows.positions = call->query_positions + rows.entry * call->shape.queries + rows.first;
    return rows;
}

static struct rows key_rows(const rotary_attention_forward_call *call, struct sequence sequence, int64_t head)
{
    struct rows rows = {.entry = sequence.entry,
                        .first = sequence.first_key_row,
                        .count = sequence.keys,
                        .head = head,
                        .position = call->shape.first_key};
    if (call->key_positions)
        rows.positions = call->key_positions + rows.entry * call->shape.keys + rows.first;
    return rows;
}

/* The entries of one head. */
static rotary_attention_distance_bias distance_bias_of(rotary_attention_distance_bias bias, int64_t head)
{
    if (bias.data)
        bias.data += head * bias.head_stride;
    if (bias.data && bias.gradient)
        bias.gradient += head * bias.head_stride;
    return bias;
}

/* The vectors of one head. */
static rotary_attention_distance_vectors vectors_of(rotary_attention_distance_vectors vectors, int64_t head)
{
    if (vectors.data)
        vectors.data += head * vectors.head_stride;
    if (vectors.data && vectors.gradient)
        vectors.gradient += head * vectors.head_stride;
    return vectors;
}

/* Queries as keys by distance meet them: with the head's query_bias, which may be NULL. */
static double *load_unrotated(const struct attention_plan *plan, rotary_attention_const_view view,
                              struct rows rows, const float *query_bias)
{
    int64_t dim = plan->config.head_dim;
    double *to = load_rows(plan, view, rows, NULL);
    for (int64_t i = 0; query_bias && i < rows.count * dim; i++)
        to[i] += (double)query_bias[rows.head * dim + i % dim];
    return to;
}

/* With the functions of one head. */
static rotary_attention_piecewise_bias piecewise_bias_of(rotary_attention_piecewise_bias bias, int64_t head)
{
    if (!bias.intercepts)
        return bias;
    bias.intercepts += head * bias.segments;
    bias.slopes += head * bias.segments;
    if (bias.intercept_gradient) {
        bias.intercept_gradient += head * bias.segments;
        bias.slope_gradient += head * bias.segments;
    }
    return bias;
}

static double sink_of(const float *sinks, int64_t head)
{
    return sinks ? (double)sinks[head] : -HUGE_VAL;
}

static struct reference_head head_load(const struct attention_plan *plan,
                                       const rotary_attention_forward_call *call, struct sequence sequence,
                                       int64_t h)
{
    const rotary_attention_config *config = &plan->config;
    struct rows queries = query_rows(call, sequence, h);
    struct rows keys = key_rows(call, sequence, h / (config->heads / config->key_value_heads));
    keys.count = sequence.key_length;
    struct reference_head head = {
        .config = config,
        .queries = sequence.queries,
        .keys = keys.count,
        .first_query = call->shape.first_query,
        .first_key = call->shape.first_key,
        .query = load_rows(plan, call->query, queries, &plan->query_rotation),
        .key = load_rows(plan, call->key, keys, call->keys_rotated ? NULL : &plan->key_rotation),
        .value = load_rows(plan, config->key_is_value ? call->key : call->value, keys,
                           call->keys_rotated ? NULL : &plan->value_rotation),
        .bias_stride = call->bias.query_stride,
        .distance_bias = distance_bias_of(call->distance_bias, h),
        .piecewise_bias = piecewise_bias_of(call->piecewise_bias, h),
        .distance_keys = vectors_of(call->distance_keys, h),
        .distance_queries = vectors_of(call->distance_queries, h),
        .distance_values = vectors_of(call->distance_values, h),
        .dropout = call->dropout,
        .sink = sink_of(call->sinks, h),
        .head = h,
        /* A packed sequence is numbered by its first query. */
        .sequence = sequence.entry + sequence.first_query_row,
        .p = reference_doubles(keys.count),
        .d_softcap = reference_doubles(keys.count)};
    if (call->distance_keys.data)
        head.unrotated_query = load_unrotated(plan, call->query, queries, call->query_bias);
    if (call->bias.data)
        head.bias = call->bias.data + sequence.entry * call->bias.batch_stride + h * call->bias.head_stride +
                    sequence.first_query_row * call->bias.query_stride + sequence.first_key_row;
    return head;
}

static void attention_forward(const struct attention_plan *plan, const rotary_attention_forward_call *call)
{
    rotary_attention_shape shape = call->shape;
    int64_t dim = plan->config.head_dim, heads = plan->config.heads;
    for (int64_t s = 0; s < sequences_of(call); s++)
        for (int64_t h = 0; h < heads; h++) {
            struct sequence sequence = sequence_of(call, s);
            struct reference_head head = head_load(plan, call, sequence, h);
            struct rows rows = query_rows(call, sequence, h);
            double *context = reference_doubles(rows.count * dim);
            for (int64_t m = 0; m < rows.count; m++) {
                double log_sum_exp = reference_attend(&head, m, context + m * dim);
                if (call->log_sum_exp)
                    call->log_sum_exp[(rows.entry * heads + h) * shape.queries + rows.first + m] =
                        (float)log_sum_exp;
            }
            store_rows(plan, call->output, rows, &plan->output_rotation, context);
            reference_head_free(&head);
        }
}

/* The inputs of the forward pass of a backward pass. */
static rotary_attention_forward_call inputs_of(const rotary_attention_backward_call *call)
{
    return (rotary_attention_forward_call){.shape = call->shape,
                                           .query = call->query,
                                           .key = call->key,
                                           .value = call->value,
                                           .bias = call->bias,
                                           .packed_sequences = call->packed_sequences,
                                           .key_lengths = call->key_lengths,
                                           .query_positions = call->query_positions,
                                           .key_positions = call->key_positions,
                                           .distance_bias = call->distance_bias,
                                           .piecewise_bias = call->piecewise_bias,
                                           .dropout = call->dropout,
                                           .sinks = call->sinks,
                                           .distance_keys = call->distance_keys,
                                           .query_bias = call->query_bias,
                                           .distance_queries = call->distance_queries,
                                           .distance_values = call->distance_values};
}

/* Adds the gradient of unrotated queries to that of queries, which is rotated back, and to query_bias's. */
static void add_unrotated(const struct attention_plan *plan, const rotary_attention_backward_call *call,
                          struct rows rows, const struct reference_head_gradients *gradients)
{
    int64_t dim = plan->config.head_dim;
    for (int64_t i = 0; i < rows.count * dim; i++) {
        gradients->query[i] += gradients->unrotated_query[i];
        if (call->query_bias_gradient) {
            float *to = &call->query_bias_gradient[rows.head * dim + i % dim];
            *to = (float)((double)*to + gradients->unrotated_query[i]);
        }
    }
}

static void head_backward(const struct attention_plan *plan, const rotary_attention_backward_call *call,
                          struct sequence sequence, int64_t h, struct reference_head_gradients gradients)
{
    const rotary_attention_forward_call inputs = inputs_of(call);
    int64_t dim = plan->config.head_dim;
    struct reference_head head = head_load(plan, &inputs, sequence, h);
    struct rows rows = query_rows(&inputs, sequence, h);
    double *d_context = load_rows(plan, call->output_gradient, rows, &plan->output_rotation);
    double sink_gradient = 0;
    head.sink_gradient = call->sinks_gradient ? &sink_gradient : NULL;
    gradients.query = reference_doubles(rows.count * dim);
    gradients.unrotated_query = reference_doubles(rows.count * dim);
    for (int64_t m = 0; m < rows.count; m++) {
        int64_t at = (rows.entry * plan->config.heads + h) * call->shape.queries + rows.first + m;
        reference_attend_backward(&head, m, (double)call->log_sum_exp[at], d_context + m * dim, &gradients);
    }
    if (call->sinks_gradient)
        call->sinks_gradient[h] = (float)((double)call->sinks_gradient[h] + sink_gradient);
    rotate_back(plan, rows, &plan->query_rotation, gradients.query);
    add_unrotated(plan, call, rows, &gradients);
    for (int64_t row = 0; row < rows.count; row++)
        store_row(plan, call->query_gradient, rows, row, gradients.query + row * dim);
    free(gradients.query);
    free(gradients.unrotated_query);
    free(d_context);
    reference_head_free(&head);
}

static void attention_backward(const struct attention_plan *plan, const rotary_attention_backward_call *call)
{
    const rotary_attention_forward_call inputs = inputs_of(call);
    int64_t dim = plan->config.head_dim, shared = plan->config.key_value_heads,
            group = plan->config.heads / shared;
    for (int64_t s = 0; s < sequences_of(&inputs); s++)
        for (int64_t h = 0; h < shared; h++) {
            struct sequence sequence = sequence_of(&inputs, s);
            struct rows rows = key_rows(&inputs, sequence, h);
            double *key = reference_doubles(rows.count * dim); /* also of values that are keys */
            struct reference_head_gradients gradients = {
                .key = key, .value = plan->config.key_is_value ? key : reference_doubles(rows.count * dim)};
            for (int64_t query_head = h * group; query_head < (h + 1) * group; query_head++)
                head_backward(plan, call, sequence, query_head, gradients);
            if (!plan->config.key_is_value)
                store_rows(plan, call->value_gradient, rows, &plan->value_rotation, gradients.value);
            store_rows(plan, call->key_gradient, rows, &plan->key_rotation, gradients.key);
        }
}

/* ---- decoding ---- */

static struct rows new_tokens(const rotary_attention_decode_call *call, int64_t entry, int64_t head)
{
    struct rows rows = {
        .entry = entry, .count = call->queries, .head = head, .position = call->lengths[entry]};
    if (call->positions)
        rows.positions = call->positions + entry * call->queries;
    return rows;
}

/* Rotates the new tokens of a head and stores them behind those of the cache. */
static void append(const struct attention_plan *plan, const rotary_attention_decode_call *call,
                   rotary_attention_view cache, rotary_attention_const_view from, struct rows rows,
                   const struct reference_rotation_plan *rotation)
{
    double *added = load_rows(plan, from, rows, rotation);
    for (int64_t row = 0; row < rows.count; row++) {
        struct rows to = {.entry = rows.entry,
                          .first = (call->lengths[rows.entry] + row) % call->capacity,
                          .count = 1,
                          .head = rows.head};
        store_row(plan, cache, to, 0, added + row * plan->config.head_dim);
    }
    free(added);
}

/* Tokens first ... first + count - 1 of a head of the cache, which are rotated already. */
static double *cached(const struct attention_plan *plan, const rotary_attention_decode_call *call,
                      rotary_attention_view cache, struct rows rows)
{
    int64_t dim = plan->config.head_dim;
    double *to = reference_doubles(rows.count * dim);
    for (int64_t row = 0; row < rows.count; row++) {
        struct rows from = {
            .entry = rows.entry, .first = (rows.first + row) % call->capacity, .count = 1, .head = rows.head};
        double *token = load_rows(plan, readable(cache), from, NULL);
        memcpy(to + row * dim, token, (size_t)dim * sizeof *to);
        free(token);
    }
    return to;
}

static void decode_head(const struct attention_plan *plan, const rotary_attention_decode_call *call,
                        int64_t entry, int64_t h)
{
    const rotary_attention_config *config = &plan->config;
    int64_t length = call->lengths[entry], end = length + (call->key.data ? call->queries : 0);
    int64_t first = config->window > 0 && length + 1 > config->window ? length + 1 - config->window : 0;
    struct rows rows = new_tokens(call, entry, h);
    struct rows keys = {.entry = entry,
                        .first = first,
                        .count = end - first,
                        .head = h / (config->heads / config->key_value_heads)};
    struct reference_head head = {
        .config = config,
        .queries = call->queries,
        .keys = keys.count,
        .first_query = length,
        .first_key = first,
        .query = load_rows(plan, call->query, rows, &plan->query_rotation),
        .key = cached(plan, call, call->key_cache, keys),
        .value = cached(plan, call, config->key_is_value ? call->key_cache : call->value_cache, keys),
        .bias_stride = call->bias.query_stride,
        .distance_bias = distance_bias_of(call->distance_bias, h),
        .piecewise_bias = piecewise_bias_of(call->piecewise_bias, h),
        .distance_keys = vectors_of(call->distance_keys, h),
        .distance_queries = vectors_of(call->distance_queries, h),
        .distance_values = vectors_of(call->distance_values, h),
        .sink = sink_of(call->sinks, h),
        .p = reference_doubles(keys.count),
        .d_softcap = reference_doubles(keys.count)};
    if (call->distance_keys.data)
        head.unrotated_query = load_unrotated(plan, call->query, rows, call->query_bias);
    if (call->bias.data)
        head.bias = call->bias.data + entry * call->bias.batch_stride + h * call->bias.head_stride + first;
    double *context = reference_doubles(rows.count * config->head_dim);
    for (int64_t m = 0; m < rows.count; m++)
        reference_attend(&head, m, context + m * config->head_dim);
    store_rows(plan, call->output, rows, &plan->output_rotation, context);
    reference_head_free(&head);
}

static void append_all(const struct attention_plan *plan, const rotary_attention_decode_call *call)
{
    for (int64_t entry = 0; entry < call->batch; entry++)
        for (int64_t h = 0; call->key.data && h < plan->config.key_value_heads; h++) {
            struct rows rows = new_tokens(call, entry, h);
            append(plan, call, call->key_cache, call->key, rows, &plan->key_rotation);
            if (!plan->config.key_is_value)
                append(plan, call, call->value_cache, call->value, rows, &plan->value_rotation);
        }
}

static void attention_decode(const struct attention_plan *plan, const rotary_attention_decode_call *call)
{
    append_all(plan, call);
    for (int64_t entry = 0; entry < call->batch; entry++)
        for (int64_t h = 0; h < plan->config.heads; h++)
            decode_head(plan, call, entry, h);
}

/* ---- the operations ---- */

static void check_distance_bias(const struct backend *backend, const struct attention_plan *plan,
                                const rotary_attention_distance_bias *bias)
{
    int64_t entries = (plan->config.heads - 1) * bias->head_stride + bias->distances;
    reference_check_array(backend, bias->data, entries, sizeof(float), "bias by distance");
    reference_check_array(backend, bias->gradient, entries, sizeof(float), "gradient of a bias by distance");
}

static void check_distance_vectors(const struct backend *backend, const struct attention_plan *plan,
                                   const rotary_attention_distance_vectors *vectors)
{
    /* With a negative stride, vector 0 is the last in memory. */
    int64_t span = (vectors->distances - 1) * vectors->distance_stride, before = span < 0 ? -span : 0;
    int64_t elements =
        (plan->config.heads - 1) * vectors->head_stride + (span < 0 ? -span : span) + plan->config.head_dim;
    if (vectors->data)
        reference_check_array(backend, vectors->data - before, elements, sizeof(float),
                              "vectors by distance");
    if (vectors->gradient)
        reference_check_array(backend, vectors->gradient - before, elements, sizeof(float),
                              "gradient of vectors by distance");
}

static void check_query_bias(const struct backend *backend, const struct attention_plan *plan,
                             const float *query_bias)
{
    reference_check_array(backend, query_bias, plan->config.heads * plan->config.head_dim, sizeof(float),
                          "bias of queries");
}

static void check_piecewise_bias(const struct backend *backend, const struct attention_plan *plan,
                                 const rotary_attention_piecewise_bias *bias)
{
    int64_t functions = plan->config.heads * bias->segments;
    const struct {
        const float *data, *gradient;
        int64_t count;
    } arrays[] = {{bias->intercepts, bias->intercept_gradient, functions},
                  {bias->slopes, bias->slope_gradient, functions},
                  {bias->knots, NULL, bias->segments - 1},
                  {bias->distance_inputs, bias->input_gradient, bias->distances},
                  {bias->query_scales, bias->scale_gradient, bias->positions}};
    for (int i = 0; i < 5; i++) {
        reference_check_array(backend, arrays[i].data, arrays[i].count, sizeof(float),
                              "piecewise-linear bias");
        reference_check_array(backend, arrays[i].gradient, arrays[i].count, sizeof(float),
                              "gradient of a piecewise-linear bias");
    }
}

/* Of queries, keys and values. */
static void check_inputs(const struct backend *backend, const struct attention_plan *plan,
                         const rotary_attention_forward_call *call)
{
    rotary_attention_shape shape = call->shape;
    const int64_t queries[] = {shape.batch, shape.queries, plan->config.heads},
                  keys[] = {shape.batch, shape.keys, plan->config.key_value_heads};
    check_view(backend, plan, call->query, queries, "queries");
    check_view(backend, plan, call->key, keys, "keys");
    check_view(backend, plan, call->value, keys, "values");
    check_view(backend, plan, readable(call->output), queries, "output of attention");
    reference_check_array(backend, call->log_sum_exp, shape.batch * plan->config.heads * shape.queries,
                          sizeof(float), "log-sum-exp");
    reference_check_host(backend, call->packed_sequences.query_starts, "starts of sequences");
    reference_check_host(backend, call->packed_sequences.key_starts, "starts of sequences");
    reference_check_host(backend, call->key_lengths, "lengths of keys");
    reference_check_host(backend, call->query_positions, "positions of queries");
    reference_check_host(backend, call->key_positions, "positions of keys");
    check_distance_bias(backend, plan, &call->distance_bias);
    check_piecewise_bias(backend, plan, &call->piecewise_bias);
    check_distance_vectors(backend, plan, &call->distance_keys);
    check_distance_vectors(backend, plan, &call->distance_queries);
    check_distance_vectors(backend, plan, &call->distance_values);
    check_query_bias(backend, plan, call->query_bias);
    reference_check_array(backend, call->sinks, plan->config.heads, sizeof(float), "sinks");
}

rotary_status reference_attention_forward(const struct backend *backend,
                                          const struct backend_attention_forward *call, rotary_error *error)
{
    (void)error;
    size_t bytes = workspace_bytes(call->plan, call->call->shape);
    check_inputs(backend, call->plan, call->call);
    spoil(backend, call->call->workspace, bytes);
    attention_forward(call->plan, call->call);
    spoil(backend, call->call->workspace, bytes);
    return ROTARY_OK;
}

rotary_status reference_attention_backward(const struct backend *backend,
                                           const struct backend_attention_backward *call, rotary_error *error)
{
    (void)error;
    const rotary_attention_backward_call *of = call->call;
    const int64_t queries[] = {of->shape.batch, of->shape.queries, call->plan->config.heads},
                  keys[] = {of->shape.batch, of->shape.keys, call->plan->config.key_value_heads};
    size_t bytes = workspace_bytes(call->plan, of->shape);
    const rotary_attention_forward_call inputs = inputs_of(of);
    check_inputs(backend, call->plan, &inputs);
    check_view(backend, call->plan, of->output, queries, "output of attention");
    reference_check_array(backend, of->log_sum_exp,
                          of->shape.batch * call->plan->config.heads * of->shape.queries, sizeof(float),
                          "log-sum-exp");
    check_view(backend, call->plan, of->output_gradient, queries, "gradient of attention's output");
    check_view(backend, call->plan, readable(of->query_gradient), queries, "gradient of queries");
    check_view(backend, call->plan, readable(of->key_gradient), keys, "gradient of keys");
    check_view(backend, call->plan, readable(of->value_gradient), keys, "gradient of values");
    check_query_bias(backend, call->plan, of->query_bias_gradient);
    reference_check_array(backend, of->sinks_gradient, call->plan->config.heads, sizeof(float),
                          "gradient of sinks");
    spoil(backend, of->workspace, bytes);
    attention_backward(call->plan, of);
    spoil(backend, of->workspace, bytes);
    return ROTARY_OK;
}

/* Of new keys and values, and of the caches. */
static void check_new_keys(const struct backend *backend, const struct attention_plan *plan,
                           const rotary_attention_decode_call *call)
{
    const int64_t keys[] = {call->batch, call->queries, plan->config.key_value_heads},
                  cached_keys[] = {call->batch, call->capacity, plan->config.key_value_heads};
    check_view(backend, plan, call->key, keys, "keys");
    check_view(backend, plan, call->value, keys, "values");
    check_view(backend, plan, readable(call->key_cache), cached_keys, "cache of keys");
    check_view(backend, plan, readable(call->value_cache), cached_keys, "cache of values");
    reference_check_host(backend, call->lengths, "lengths of the caches");
    reference_check_host(backend, call->positions, "positions of new tokens");
}

rotary_status reference_attention_decode(const struct backend *backend,
                                         const struct backend_attention_decode *call, rotary_error *error)
{
    (void)error;
    const rotary_attention_decode_call *of = call->call;
    const int64_t queries[] = {of->batch, of->queries, call->plan->config.heads};
    size_t bytes = reference_attention_decode_bytes(call->plan, of->batch, of->queries, of->capacity);
    check_view(backend, call->plan, of->query, queries, "queries");
    check_view(backend, call->plan, readable(of->output), queries, "output of attention");
    check_new_keys(backend, call->plan, of);
    check_distance_bias(backend, call->plan, &of->distance_bias);
    check_piecewise_bias(backend, call->plan, &of->piecewise_bias);
    check_distance_vectors(backend, call->plan, &of->distance_keys);
    check_distance_vectors(backend, call->plan, &of->distance_queries);
    check_distance_vectors(backend, call->plan, &of->distance_values);
    check_query_bias(backend, call->plan, of->query_bias);
    reference_check_array(backend, of->sinks, call->plan->config.heads, sizeof(float), "sinks");
    spoil(backend, of->workspace, bytes);
    attention_decode(call->plan, of);
    spoil(backend, of->workspace, bytes);
    return ROTARY_OK;
}

rotary_status reference_attention_append(const struct backend *backend,
                                         const struct backend_attention_append *call, rotary_error *error)
{
    (void)error;
    const rotary_attention_append_call *of = call->call;
    const rotary_attention_decode_call step = {.batch = of->batch,
                                               .queries = of->tokens,
                                               .capacity = of->capacity,
                                               .lengths = of->lengths,
                                               .key = of->key,
                                               .value = of->value,
                                               .key_cache = of->key_cache,
                                               .value_cache = of->value_cache,
                                               .positions = of->positions};
    size_t bytes = reference_attention_append_bytes(call->plan, of->batch, of->tokens);
    check_new_keys(backend, call->plan, &step);
    spoil(backend, of->workspace, bytes);
    append_all(call->plan, &step);
    spoil(backend, of->workspace, bytes);
    return ROTARY_OK;
}
