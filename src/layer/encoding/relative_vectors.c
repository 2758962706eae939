/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/relative_vectors.h"

#include "layer/encoding/distance_rows.h"
#include "layer/sublayer_parts.h"

#include <stdio.h>

static const char what[] = "vectors by distance";

/* Counts the distances -clip ... clip, or those up to 0. */
static int64_t table_rows(const struct relative_vectors_config *config)
{
    return (config->causal ? 1 : 2) * config->clip + 1;
}

static rotary_status add_table(const char *name, int *index, const struct sublayer_config *config,
                               struct parameters *parameters, rotary_error *error)
{
    int64_t rows = table_rows(&config->distance_vectors);
    struct parameter row = {.rows = rows,
                            .columns = config->head_dim,
                            .initial = INITIAL_UNIFORM,
                            .scale = initial_glorot(rows, config->head_dim)};
    snprintf(row.name, sizeof row.name, "%s%s%s.weight", config->name ? config->name : "",
             config->name ? "." : "", name);
    return parameters_add(parameters, &row, index, error);
}

/* ---- projections ---- */

static rotary_status projection_create(struct vector_projection *projection, const struct backend *backend,
                                       const char *name, const struct sublayer_config *config,
                                       struct parameters *parameters, rotary_error *error)
{
    const struct distance_rows *rows = config->distance_vectors.rows;
    int64_t channels = config->heads * config->head_dim;
    const struct sublayer_linear linear = {
        .name = name, .inputs = config->width, .outputs = channels, .rows = rows->distances};
    projection->vectors = matrix_of(NULL, ROTARY_F32, rows->distances, channels);
    rotary_status status =
        sublayer_add_linear(&projection->linear, backend, config, &linear, parameters, error);
    if (status != ROTARY_OK || config->measured)
        return status;
    return backend->operations->allocate(backend, &projection->vectors.data,
                                         (size_t)(rows->distances * channels) * sizeof(float), what, error);
}

static void projection_destroy(struct vector_projection *projection, const struct backend *backend)
{
    linear_destroy(projection->linear);
    if (projection->vectors.data)
        backend->operations->release(backend, projection->vectors.data);
}

static size_t projection_bytes(const struct vector_projection *projection)
{
    if (!projection->linear)
        return 0;
    return linear_bytes(projection->linear) +
           (size_t)(projection->vectors.rows * projection->vectors.columns) * sizeof(float);
}

static void projection_carve(struct vector_projection *projection, const struct backend *backend,
                             struct rotary_arena *arena)
{
    const struct matrix *vectors = &projection->vectors;
    int64_t elements = vectors->rows * vectors->columns;
    if (!projection->linear)
        return;
    projection->gradient = rotary_arena_push(arena, elements, sizeof(float));
    void *stored = rotary_arena_push(arena, elements, rotary_dtype_size(backend->storage));
    projection->d_vectors = matrix_of(stored, backend->storage, vectors->rows, vectors->columns);
}

static rotary_status project(struct vector_projection *projection, const struct distance_rows *rows,
                             const struct parameters *parameters, rotary_error *error)
{
    if (!projection->linear)
        return ROTARY_OK;
    uint64_t version = linear_version(projection->linear, parameters);
    if (projection->version == version && projection->table_version == rows->table_version)
        return ROTARY_OK;
    rotary_status status = linear_forward(projection->linear, parameters, projection->vectors, rows->rows,
                                          MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    projection->version = version;
    projection->table_version = rows->table_version;
    return ROTARY_OK;
}

static rotary_status projection_clear_gradient(const struct vector_projection *projection,
                                               const struct backend *backend, rotary_error *error)
{
    size_t elements = (size_t)(projection->vectors.rows * projection->vectors.columns);
    if (!projection->linear)
        return ROTARY_OK;
    return backend->operations->clear(backend, projection->gradient, elements * sizeof(float), error);
}

static rotary_status projection_backward(struct vector_projection *projection, const struct backend *backend,
                                         const struct distance_rows *rows, struct parameters *parameters,
                                         rotary_error *error)
{
    if (!projection->linear)
        return ROTARY_OK;
    const struct backend_cast cast = {.out = projection->d_vectors, .in = projection->gradient};
    rotary_status status = backend->operations->cast(backend, &cast, error);
    if (status != ROTARY_OK)
        return status;
    status = linear_backward(projection->linear, parameters, rows->d_rows, projection->d_vectors, rows->rows,
                             error);
    float *d_table = parameter_gradient(parameters, rows->table);
    if (status != ROTARY_OK || !d_table)
        return status;
    const struct backend_add add = {.to = d_table, .in = rows->d_rows};
    return backend->operations->add(backend, &add, error);
}

/* Row i is for the distance first + i. */
static rotary_attention_distance_vectors projected(const struct matrix *vectors, int64_t first,
                                                   int64_t head_dim)
{
    return (rotary_attention_distance_vectors){.data = vectors->data,
                                               .distances = vectors->rows,
                                               .first = first,
                                               .head_stride = head_dim,
                                               .distance_stride = vectors->columns};
}

/* Those of keys: of a table, row i is for the distance first - i, so they lie backwards. */
static rotary_attention_distance_vectors projected_keys(const struct distance_rows *rows,
                                                        const struct matrix *vectors, int64_t head_dim)
{
    rotary_attention_distance_vectors keys = projected(vectors, rows->first, head_dim);
    if (!rows->is_table)
        return keys;
    const float *data = keys.data;
    keys.data = data ? data + (keys.distances - 1) * keys.distance_stride : NULL;
    keys.first = rows->first - (keys.distances - 1);
    keys.distance_stride = -keys.distance_stride;
    return keys;
}

/* Their gradient, which begins where the matrix does. */
static float *keys_gradient(const struct distance_rows *rows, const struct matrix *vectors, float *gradient)
{
    return rows->is_table ? gradient + (vectors->rows - 1) * vectors->columns : gradient;
}

/* ---- the vectors of a sublayer ---- */

rotary_status relative_vectors_create(struct relative_vectors *vectors, const struct backend *backend,
                                      const struct sublayer_config *config, struct parameters *parameters,
                                      rotary_error *error)
{
    const struct distance_vector_terms *terms = &config->distance_vectors.terms;
    rotary_status status = ROTARY_OK;
    *vectors = (struct relative_vectors){.backend = backend,
                                         .config = config->distance_vectors,
                                         .head_dim = config->head_dim,
                                         .keys = -1,
                                         .values = -1};
    if (terms->keys == DISTANCE_VECTORS_TABLE)
        status = add_table("relative_keys", &vectors->keys, config, parameters, error);
    if (terms->keys == DISTANCE_VECTORS_PROJECTED)
        status =
            projection_create(&vectors->projected_keys, backend, "relative_keys", config, parameters, error);
    if (status == ROTARY_OK && terms->queries == DISTANCE_VECTORS_PROJECTED)
        status = projection_create(&vectors->projected_queries, backend, "relative_queries", config,
                                   parameters, error);
    if (status == ROTARY_OK && terms->values == DISTANCE_VECTORS_TABLE)
        status = add_table("relative_values", &vectors->values, config, parameters, error);
    return status;
}

void relative_vectors_destroy(struct relative_vectors *vectors)
{
    projection_destroy(&vectors->projected_keys, vectors->backend);
    projection_destroy(&vectors->projected_queries, vectors->backend);
}

size_t relative_vectors_bytes(const struct relative_vectors *vectors)
{
    return projection_bytes(&vectors->projected_keys) + projection_bytes(&vectors->projected_queries);
}

void relative_vectors_carve_scratch(struct relative_vectors *vectors, struct rotary_arena *arena)
{
    projection_carve(&vectors->projected_keys, vectors->backend, arena);
    projection_carve(&vectors->projected_queries, vectors->backend, arena);
}

static rotary_attention_distance_vectors table_of(const struct relative_vectors_config *config,
                                                  int64_t head_dim, const float *data)
{
    if (!data)
        return (rotary_attention_distance_vectors){0};
    return (rotary_attention_distance_vectors){
        .data = data, .distances = table_rows(config), .first = -config->clip, .distance_stride = head_dim};
}

static struct relative_vectors_call call_of(const struct relative_vectors *vectors,
                                            const struct parameters *parameters)
{
    const struct distance_rows *rows = vectors->config.rows;
    const struct vector_projection *keys = &vectors->projected_keys, *queries = &vectors->projected_queries;
    struct relative_vectors_call call = {
        .keys = table_of(&vectors->config, vectors->head_dim, parameter_value(parameters, vectors->keys)),
        .values =
            table_of(&vectors->config, vectors->head_dim, parameter_value(parameters, vectors->values))};
    if (keys->linear)
        call.keys = projected_keys(rows, &keys->vectors, vectors->head_dim);
    if (queries->linear)
        call.queries = projected(&queries->vectors, -rows->first, vectors->head_dim);
    if (vectors->config.terms.query_biases)
        call.query_bias = rows->query_bias;
    return call;
}

rotary_status relative_vectors_forward(struct relative_vectors *vectors, const struct parameters *parameters,
                                       struct relative_vectors_call *call, rotary_error *error)
{
    *call = call_of(vectors, parameters);
    rotary_status status = project(&vectors->projected_keys, vectors->config.rows, parameters, error);
    return status == ROTARY_OK ? project(&vectors->projected_queries, vectors->config.rows, parameters, error)
                               : status;
}

rotary_status relative_vectors_add_bias(const struct relative_vectors *vectors,
                                        const struct parameters *parameters, struct matrix queries,
                                        rotary_error *error)
{
    if (!vectors->config.terms.query_biases)
        return ROTARY_OK;
    const struct backend_add_to_rows call = {
        .rows = queries, .vector = parameter_value(parameters, vectors->config.rows->content_bias)};
    return vectors->backend->operations->add_to_rows(vectors->backend, &call, error);
}

rotary_status relative_vectors_clear_gradient(struct relative_vectors *vectors,
                                              const struct parameters *parameters,
                                              struct relative_vectors_call *call, rotary_error *error)
{
    *call = call_of(vectors, parameters);
    const struct vector_projection *keys = &vectors->projected_keys;
    call->keys.gradient = keys->linear ? keys_gradient(vectors->config.rows, &keys->vectors, keys->gradient)
                                       : parameter_gradient(parameters, vectors->keys);
    call->queries.gradient = vectors->projected_queries.gradient;
    call->values.gradient = parameter_gradient(parameters, vectors->values);
    if (vectors->config.terms.query_biases)
        call->query_bias_gradient = vectors->config.rows->query_bias_gradient;
    rotary_status status = projection_clear_gradient(keys, vectors->backend, error);
    return status == ROTARY_OK
               ? projection_clear_gradient(&vectors->projected_queries, vectors->backend, error)
               : status;
}

rotary_status relative_vectors_backward(struct relative_vectors *vectors, struct parameters *parameters,
                                        struct matrix d_queries, rotary_error *error)
{
    const struct distance_rows *rows = vectors->config.rows;
    rotary_status status =
        projection_backward(&vectors->projected_keys, vectors->backend, rows, parameters, error);
    if (status == ROTARY_OK)
        status = projection_backward(&vectors->projected_queries, vectors->backend, rows, parameters, error);
    if (status != ROTARY_OK || !vectors->config.terms.query_biases)
        return status;
    const struct backend_weight_gradient sums = {.sums = parameter_gradient(parameters, rows->content_bias),
                                                 .a = d_queries};
    return vectors->backend->operations->weight_gradient(vectors->backend, &sums, error);
}

struct relative_vectors_call relative_vectors_unread(const struct sublayer_config *config, float *unread)
{
    const struct relative_vectors_config *vectors = &config->distance_vectors;
    float *gradient = config->training ? unread : NULL;
    struct relative_vectors_call call = {0};
    if (vectors->terms.keys == DISTANCE_VECTORS_TABLE)
        call.keys = table_of(vectors, config->head_dim, unread);
    if (vectors->terms.rows != DISTANCE_ROWS_NONE) {
        const struct matrix all =
            matrix_of(NULL, ROTARY_F32, vectors->rows->distances, config->heads * config->head_dim);
        if (vectors->terms.keys == DISTANCE_VECTORS_PROJECTED)
            call.keys = projected_keys(vectors->rows, &all, config->head_dim);
        if (vectors->terms.queries == DISTANCE_VECTORS_PROJECTED)
            call.queries = projected(&all, -vectors->rows->first, config->head_dim);
        call.keys.data = call.keys.distances > 0 ? unread : NULL;
        call.queries.data = call.queries.distances > 0 ? unread : NULL;
    }
    if (vectors->terms.values == DISTANCE_VECTORS_TABLE)
        call.values = table_of(vectors, config->head_dim, unread);
    if (vectors->terms.query_biases) {
        call.query_bias = unread;
        call.query_bias_gradient = gradient;
    }
    call.keys.gradient = call.keys.data ? gradient : NULL;
    call.queries.gradient = call.queries.data ? gradient : NULL;
    call.values.gradient = call.values.data ? gradient : NULL;
    return call;
}
