/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend.h"

#include "base/fail.h"

#include <float.h>
#include <math.h>
#include <rotary/attention.h>
#include <stdlib.h>

/* Memory and plan of one call. */
struct kernel {
    rotary_attention *attention;
    bool key_is_value;
    void *workspace, *query, *key, *value; /* value NULL with key_is_value */
    float *bias;                           /* [batch, heads, queries, keys]; NULL: none */
    /* In f32, those of struct reference_distances; NULL: none. */
    float *distance_bias, *distance_keys, *distance_queries, *distance_values, *query_bias;
    float *sinks; /* [heads]; NULL: none */
};

static const char no_memory[] = "no memory to run the kernel of librotary";

/* A scale or a softcap of 0 has another meaning to the kernel. */
static const char *missing(const struct reference_attention *wanted)
{
    if ((float)wanted->scale <= 0)
        return wanted->scale > 0 ? "the scale is 0 in f32, and the kernel wants one above 0"
                                 : "the kernel wants a scale above 0";
    if (wanted->softcap > 0 && (float)wanted->softcap == 0)
        return "the softcap is 0 in f32, and the kernel would have none";
    if (wanted->value_dim != wanted->head_dim)
        return "the kernel wants values with as many channels as queries";
    if (wanted->chunks.length > 0)
        return "the kernel has no positions by chunk";
    if (wanted->key_positions)
        return "the kernel wants keys at the positions 0, 1, ...";
    return NULL;
}

static rotary_status create(const struct attend_config *request, const struct attend_work *work,
                            struct kernel *kernel, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = wanted->heads;
    config.key_value_heads = wanted->key_value_heads;
    config.head_dim = wanted->head_dim;
    config.scale = (float)wanted->scale;
    config.causal = wanted->after == 0;
    config.window = config.causal ? wanted->before + 1 : 0;
    config.softcap = (float)wanted->softcap;
    config.rope = config.value_rope = work->rotation.rope;
    config.rotate = work->rotation.rope ? request->rotate : 0;
    config.key_is_value = kernel->key_is_value = request->key_is_value;
    config.threads = request->threads;
    config.isa = request->isa;
    return rotary_attention_create(&kernel->attention, &config, error);
}

/* Windows without causal attention, which the kernel has only as a bias. */
static bool window_needs_bias(const struct reference_attention *wanted)
{
    return wanted->after > 0 || (wanted->after < 0 && wanted->before >= 0);
}

/* Mask, window and what is added to pairs as a bias on the scores. */
static rotary_status make_bias(const struct reference_attention *wanted, struct kernel *kernel,
                               rotary_error *error)
{
    if (!wanted->mask.values && !wanted->pairs.bias && !window_needs_bias(wanted))
        return ROTARY_OK;
    int64_t rows = wanted->batch * wanted->heads * wanted->queries;
    kernel->bias = malloc((size_t)(rows * wanted->keys) * sizeof *kernel->bias);
    if (!kernel->bias)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s", no_memory);
    float *next = kernel->bias;
    for (int64_t row = 0; row < rows; row++) {
        int64_t sequence = row / wanted->queries / wanted->heads;
        int64_t at[4] = {sequence, row / wanted->queries % wanted->heads, row % wanted->queries, 0};
        for (at[3] = 0; at[3] < wanted->keys; at[3]++)
            *next++ = (float)reference_attention_bias(wanted, at);
    }
    return ROTARY_OK;
}

/* Rounds `count` numbers to f32, if there are any. */
static rotary_status round_terms(const double *from, int64_t count, float **to, rotary_error *error)
{
    *to = from ? tensor_from_double(from, count, ROTARY_F32) : NULL;
    return from && !*to ? rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s", no_memory) : ROTARY_OK;
}

static rotary_status make_terms(const struct reference_attention *wanted, struct kernel *kernel,
                                rotary_error *error)
{
    const struct reference_distances *distances = &wanted->distances;
    int64_t rows = wanted->heads * distances->count, channels = wanted->head_dim;
    rotary_status status = round_terms(distances->bias, rows, &kernel->distance_bias, error);
    if (!status)
        status = round_terms(distances->keys, rows * channels, &kernel->distance_keys, error);
    if (!status)
        status = round_terms(distances->queries, rows * channels, &kernel->distance_queries, error);
    if (!status)
        status = round_terms(distances->values, rows * channels, &kernel->distance_values, error);
    if (!status)
        status = round_terms(distances->position_bias, wanted->heads * channels, &kernel->query_bias, error);
    if (!status)
        status = round_terms(wanted->sinks, wanted->heads, &kernel->sinks, error);
    return status;
}

/* The kernel's queries have the bias that those meeting keys have, and its query_bias is what those meeting
 * distances have more. */
static void add_content_bias(const struct attend_work *work, struct kernel *kernel)
{
    const struct reference_attention *wanted = &work->attention;
    const double *content = wanted->distances.content_bias, *position = wanted->distances.position_bias;
    int64_t period = wanted->heads * wanted->head_dim;
    float *query = kernel->query;
    for (int64_t i = 0; content && i < work->query.tensor.elements; i++)
        query[i] = (float)(work->query.tensor.values[i] + content[i % period]);
    for (int64_t i = 0; content && position && i < period; i++)
        kernel->query_bias[i] = (float)(position[i] - content[i]);
}

static rotary_status make_inputs(const struct attend_work *work, struct kernel *kernel, rotary_error *error)
{
    const struct tensor *query = &work->query.tensor, *key = &work->key.tensor, *value = &work->value.tensor;
    kernel->query = tensor_from_double(query->values, query->elements, ROTARY_F32);
    kernel->key = tensor_from_double(key->values, key->elements, ROTARY_F32);
    if (!kernel->key_is_value)
        kernel->value = tensor_from_double(value->values, value->elements, ROTARY_F32);
    return kernel->query && kernel->key && (kernel->value || kernel->key_is_value)
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s", no_memory);
}

static void free_kernel(struct kernel *kernel)
{
    free(kernel->sinks);
    free(kernel->query_bias);
    free(kernel->distance_values);
    free(kernel->distance_queries);
    free(kernel->distance_keys);
    free(kernel->distance_bias);
    free(kernel->bias);
    free(kernel->value);
    free(kernel->key);
    free(kernel->query);
    free(kernel->workspace);
    rotary_attention_destroy(kernel->attention);
}

static rotary_attention_distance_vectors vectors_of(const struct reference_attention *wanted,
                                                    const float *data)
{
    int64_t count = wanted->distances.count;
    return (rotary_attention_distance_vectors){.data = data,
                                               .distances = count,
                                               .first = wanted->distances.first,
                                               .head_stride = count * wanted->head_dim,
                                               .distance_stride = wanted->head_dim};
}

static rotary_attention_const_view view_of(const void *data, int64_t sequence, int64_t time, int64_t heads,
                                           int64_t head_dim)
{
    int64_t stride = time * heads * head_dim;
    return (rotary_attention_const_view){(const float *)data + sequence * stride, stride, heads * head_dim,
                                         head_dim};
}

/* `count` sequences from `first` on, which have the same positions. */
static rotary_status run(const struct attend_work *work, struct kernel *kernel, int64_t first, int64_t count,
                         float *output, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    const struct reference_sequence *sequence = &wanted->sequences[first];
    int64_t heads = wanted->heads, pairs = wanted->key_value_heads, head_dim = wanted->head_dim;
    int64_t queries = wanted->queries, stride = queries * heads * head_dim;
    if (sequence->keys == 0)
        return ROTARY_OK; /* zeros already */
    rotary_attention_shape shape = {count, queries, sequence->keys, sequence->first_query, 0};
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = shape,
        .query = view_of(kernel->query, first, queries, heads, head_dim),
        .key = view_of(kernel->key, first, wanted->keys, pairs, head_dim),
        .output = {output + first * stride, stride, heads * head_dim, head_dim},
        .bias = {kernel->bias ? kernel->bias + first * heads * queries * wanted->keys : NULL,
                 heads * queries * wanted->keys, queries * wanted->keys, wanted->keys},
        .distance_bias = {.data = kernel->distance_bias,
                          .distances = wanted->distances.count,
                          .first = wanted->distances.first,
                          .head_stride = wanted->distances.count},
        .distance_keys = vectors_of(wanted, kernel->distance_keys),
        .query_bias = kernel->query_bias,
        .distance_queries = vectors_of(wanted, kernel->distance_queries),
        .distance_values = vectors_of(wanted, kernel->distance_values),
        .sinks = kernel->sinks,
    };
    if (kernel->value)
        call.value = view_of(kernel->value, first, wanted->keys, pairs, head_dim);
    size_t bytes = rotary_attention_forward_call_bytes(kernel->attention, &call);
    free(kernel->workspace);
    kernel->workspace = call.workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!kernel->workspace)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s", no_memory);
    return rotary_attention_forward(kernel->attention, &call, error);
}

rotary_status attend_kernel(const struct attend_config *config, const struct attend_work *work,
                            float **output, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    const char *reason = missing(wanted);
    if (reason)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s", reason);
    struct kernel kernel = {0};
    rotary_status status = create(config, work, &kernel, error);
    if (status)
        return status;
    float *made = calloc((size_t)work->query.tensor.elements, sizeof *made);
    if (!made)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s", no_memory);
    if (!status)
        status = make_inputs(work, &kernel, error);
    if (!status)
        status = make_bias(wanted, &kernel, error);
    if (!status)
        status = make_terms(wanted, &kernel, error);
    if (!status)
        add_content_bias(work, &kernel);
    int64_t together = config->key_lengths ? 1 : wanted->batch;
    for (int64_t b = 0; !status && b < wanted->batch; b += together)
        status = run(work, &kernel, b, together, made, error);
    free_kernel(&kernel);
    if (status) {
        free(made);
        return status;
    }
    *output = made;
    return ROTARY_OK;
}

/* ---- numbers beyond f32 ---- */

/* `lowest`: a number below it is as good as it. */
struct range {
    const char *name;
    const double *values; /* NULL: none */
    int64_t count;
    double lowest;
};

static bool exceeds_f32(const struct range *range)
{
    for (int64_t i = 0; range->values && i < range->count; i++) {
        const double value = fmax(range->values[i], range->lowest);
        if (isfinite(range->values[i]) && isinf((float)value))
            return true;
    }
    return false;
}

const char *attend_beyond_f32(const struct attend_work *work)
{
    const struct reference_attention *wanted = &work->attention;
    const struct reference_distances *distances = &wanted->distances;
    const struct tensor *query = &work->query.tensor, *key = &work->key.tensor, *value = &work->value.tensor;
    const int64_t rows = wanted->heads * distances->count;
    const struct range ranges[] = {
        {"the query", query->values, query->elements, -INFINITY},
        {"the key", key->values, key->elements, -INFINITY},
        {"the value", value->values, value->elements, -INFINITY},
        /* What is far below masks. */
        {"the mask", wanted->mask.values, work->mask.elements, -FLT_MAX},
        {"the bias by distance", distances->bias, rows, -FLT_MAX},
        {"a vector by distance", distances->keys, rows * wanted->head_dim, -INFINITY},
        {"a vector by distance", distances->queries, rows * wanted->head_dim, -INFINITY},
        {"a vector by distance", distances->values, rows * wanted->value_dim, -INFINITY},
        {"a bias of queries", distances->content_bias, wanted->heads * wanted->head_dim, -INFINITY},
        {"a bias of queries", distances->position_bias, wanted->heads * wanted->head_dim, -INFINITY},
        {"a sink", wanted->sinks, wanted->heads, -FLT_MAX},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (exceeds_f32(&ranges[i]))
            return ranges[i].name;
    return NULL;
}
