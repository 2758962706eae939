/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/relative_vectors.h"

#include <stdio.h>

/* Of the distances -clip ... clip, or those up to 0. */
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

rotary_status relative_vectors_create(struct relative_vectors *vectors, const struct sublayer_config *config,
                                      struct parameters *parameters, rotary_error *error)
{
    const struct distance_vector_terms *terms = &config->distance_vectors.terms;
    rotary_status status = ROTARY_OK;
    *vectors = (struct relative_vectors){
        .config = config->distance_vectors, .head_dim = config->head_dim, .keys = -1, .values = -1};
    if (terms->keys == DISTANCE_VECTORS_TABLE)
        status = add_table("relative_keys", &vectors->keys, config, parameters, error);
    if (status == ROTARY_OK && terms->values == DISTANCE_VECTORS_TABLE)
        status = add_table("relative_values", &vectors->values, config, parameters, error);
    return status;
}

static rotary_attention_distance_vectors table_of(const struct relative_vectors_config *config,
                                                  int64_t head_dim, const float *data, float *gradient)
{
    if (!data)
        return (rotary_attention_distance_vectors){0};
    return (rotary_attention_distance_vectors){.data = data,
                                               .distances = table_rows(config),
                                               .first = -config->clip,
                                               .distance_stride = head_dim,
                                               .gradient = gradient};
}

struct relative_vectors_call relative_vectors_forward(const struct relative_vectors *vectors,
                                                      const struct parameters *parameters)
{
    return (struct relative_vectors_call){
        .keys =
            table_of(&vectors->config, vectors->head_dim, parameter_value(parameters, vectors->keys), NULL),
        .values = table_of(&vectors->config, vectors->head_dim, parameter_value(parameters, vectors->values),
                           NULL)};
}

struct relative_vectors_call relative_vectors_backward(const struct relative_vectors *vectors,
                                                       const struct parameters *parameters)
{
    struct relative_vectors_call call = relative_vectors_forward(vectors, parameters);
    call.keys.gradient = parameter_gradient(parameters, vectors->keys);
    call.values.gradient = parameter_gradient(parameters, vectors->values);
    return call;
}

struct relative_vectors_call relative_vectors_unread(const struct sublayer_config *config)
{
    static float unread;
    const struct relative_vectors_config *vectors = &config->distance_vectors;
    float *gradient = config->training ? &unread : NULL;
    struct relative_vectors_call call = {0};
    if (vectors->terms.keys == DISTANCE_VECTORS_TABLE)
        call.keys = table_of(vectors, config->head_dim, &unread, gradient);
    if (vectors->terms.values == DISTANCE_VECTORS_TABLE)
        call.values = table_of(vectors, config->head_dim, &unread, gradient);
    return call;
}
