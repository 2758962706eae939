/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/distance_rows.h"

#include "base/element.h"
#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char what[] = "the vectors by distance of an encoding";

/* Sinusoids are of every distance that sequences have, a table of 2 clip. */
static int64_t distances_of(const struct distance_rows_config *config)
{
    if (config->terms.rows == DISTANCE_ROWS_NONE)
        return 0;
    if (config->terms.rows == DISTANCE_ROWS_TABLE)
        return 2 * config->clip;
    return config->causal ? config->positions : 2 * config->positions - 1;
}

static int64_t bias_elements_of(const struct distance_rows_config *config)
{
    return config->terms.query_biases ? config->heads * config->head_dim : 0;
}

static size_t bias_bytes(const struct distance_rows_config *config)
{
    return (size_t)bias_elements_of(config) * sizeof(float) * (config->training ? 2 : 1);
}

double distance_rows_bytes(const struct backend *backend, const struct distance_rows_config *config)
{
    double rows = config->terms.rows == DISTANCE_ROWS_TABLE && config->training ? 2.0 : 1.0;
    return rows * (double)distances_of(config) * (double)config->width *
               (double)rotary_dtype_size(backend->storage) +
           (double)bias_bytes(config);
}

/* ---- creation ---- */

/* Dai et al. 2019, 3.3: R_i of the distance i = m - n from key to query, as Vaswani et al. 2017, 3.5, have it
 * of a position: a sine in column 2 k, the cosine in column 2 k + 1. */
static void fill_sinusoids(const struct matrix *rows, int64_t first)
{
    int64_t width = rows->columns;
    for (int64_t i = 0; i < rows->rows; i++)
        for (int64_t column = 0; column < width; column++) {
            double frequency = pow(10000.0, -(double)(column / 2 * 2) / (double)width),
                   angle = -(double)(first + i) * frequency;
            rotary_set_element(rows->data, i * width + column, rows->dtype,
                               (float)(column % 2 ? cos(angle) : sin(angle)));
        }
}

static rotary_status create_rows(struct distance_rows *rows, int64_t width, rotary_error *error)
{
    const struct backend *backend = rows->backend;
    size_t bytes = (size_t)rows->distances * (size_t)width * rotary_dtype_size(backend->storage);
    struct matrix host = matrix_of(malloc(bytes), backend->storage, rows->distances, width);
    if (!host.data)
        return rotary_fail_memory(error, "for %s", what);
    fill_sinusoids(&host, rows->first);
    rows->rows = host;
    rows->rows.data = NULL;
    rotary_status status = backend->operations->allocate(backend, &rows->rows.data, bytes, what, error);
    if (status == ROTARY_OK)
        status = backend->operations->write(backend, rows->rows.data, host.data, bytes, error);
    free(host.data);
    return status;
}

/* Draws as the authors' code does, normal with a standard deviation of 0.02. */
static rotary_status add_table(const struct distance_rows_config *config, int *index,
                               struct parameters *parameters, rotary_error *error)
{
    struct parameter row = {
        .rows = distances_of(config), .columns = config->width, .initial = INITIAL_NORMAL, .scale = 0.02f};
    snprintf(row.name, sizeof row.name, "%.15srelative_embeddings.weight", config->prefix);
    return parameters_add(parameters, &row, index, error);
}

static rotary_status create_table(struct distance_rows *rows, const struct distance_rows_config *config,
                                  rotary_error *error)
{
    const struct backend *backend = rows->backend;
    size_t bytes = (size_t)rows->distances * (size_t)config->width * rotary_dtype_size(backend->storage);
    rows->rows = matrix_of(NULL, backend->storage, rows->distances, config->width);
    rotary_status status = backend->operations->allocate(backend, &rows->rows.data, bytes, what, error);
    if (status != ROTARY_OK || !config->training)
        return status;
    rows->d_rows = matrix_of(NULL, backend->storage, rows->distances, config->width);
    return backend->operations->allocate(backend, &rows->d_rows.data, bytes, what, error);
}

/* Draws as the authors' code does, normal with a standard deviation of 0.02. */
static rotary_status add_bias(const struct distance_rows_config *config, const char *name, int *index,
                              struct parameters *parameters, rotary_error *error)
{
    struct parameter row = {
        .rows = config->heads, .columns = config->head_dim, .initial = INITIAL_NORMAL, .scale = 0.02f};
    snprintf(row.name, sizeof row.name, "%.15s%s", config->prefix, name);
    return parameters_add(parameters, &row, index, error);
}

static rotary_status create_bias(struct distance_rows *rows, const struct distance_rows_config *config,
                                 rotary_error *error)
{
    void *memory = NULL;
    rows->host = malloc(2 * (size_t)rows->bias_elements * sizeof *rows->host);
    if (!rows->host)
        return rotary_fail_memory(error, "for %s", what);
    rotary_status status =
        rows->backend->operations->allocate(rows->backend, &memory, bias_bytes(config), what, error);
    rows->query_bias = memory;
    if (status == ROTARY_OK && config->training)
        rows->query_bias_gradient = rows->query_bias + rows->bias_elements;
    return status;
}

rotary_status distance_rows_create(struct distance_rows *rows, const struct backend *backend,
                                   const struct distance_rows_config *config, struct parameters *parameters,
                                   rotary_error *error)
{
    struct distance_rows made = {.backend = backend,
                                 .distances = distances_of(config),
                                 .first = 1 - config->positions,
                                 .is_table = config->terms.rows == DISTANCE_ROWS_TABLE,
                                 .table = -1,
                                 .content_bias = -1,
                                 .position_bias = -1,
                                 .bias_elements = bias_elements_of(config)};
    rotary_status status = ROTARY_OK;
    if (config->terms.query_biases)
        status = add_bias(config, "content_bias", &made.content_bias, parameters, error);
    if (status == ROTARY_OK && config->terms.query_biases)
        status = add_bias(config, "position_bias", &made.position_bias, parameters, error);
    if (made.is_table)
        made.first = config->clip;
    if (status == ROTARY_OK && made.is_table)
        status = add_table(config, &made.table, parameters, error);
    if (status == ROTARY_OK && made.distances > 0 && !config->measured)
        status =
            made.is_table ? create_table(&made, config, error) : create_rows(&made, config->width, error);
    if (status == ROTARY_OK && made.bias_elements > 0 && !config->measured)
        status = create_bias(&made, config, error);
    if (status == ROTARY_OK)
        *rows = made;
    else
        distance_rows_destroy(&made);
    return status;
}

void distance_rows_destroy(struct distance_rows *rows)
{
    if (rows->rows.data)
        rows->backend->operations->release(rows->backend, rows->rows.data);
    if (rows->d_rows.data)
        rows->backend->operations->release(rows->backend, rows->d_rows.data);
    if (rows->query_bias)
        rows->backend->operations->release(rows->backend, rows->query_bias);
    free(rows->host);
    *rows = (struct distance_rows){0};
}

/* ---- passes ---- */

/* u and v in rows->host. */
static rotary_status read_biases(const struct distance_rows *rows, const struct parameters *parameters,
                                 rotary_error *error)
{
    const struct parameter_range u = parameter_range(parameters, PARAMETER_VALUES, rows->content_bias),
                                 v = parameter_range(parameters, PARAMETER_VALUES, rows->position_bias);
    rotary_status status = parameters_read(parameters, u, rows->host, error);
    return status == ROTARY_OK ? parameters_read(parameters, v, rows->host + rows->bias_elements, error)
                               : status;
}

static rotary_status update_table(struct distance_rows *rows, const struct parameters *parameters,
                                  rotary_error *error)
{
    uint64_t version = parameters->rows[rows->table].version;
    if (rows->table_version == version)
        return ROTARY_OK;
    const struct backend_cast cast = {.out = rows->rows, .in = parameter_value(parameters, rows->table)};
    rotary_status status = rows->backend->operations->cast(rows->backend, &cast, error);
    if (status == ROTARY_OK)
        rows->table_version = version;
    return status;
}

rotary_status distance_rows_update(struct distance_rows *rows, const struct parameters *parameters,
                                   rotary_error *error)
{
    if (rows->is_table && rows->rows.data)
        return update_table(rows, parameters, error);
    if (!rows->query_bias)
        return ROTARY_OK;
    const uint64_t versions[] = {parameters->rows[rows->content_bias].version,
                                 parameters->rows[rows->position_bias].version};
    if (versions[0] == rows->versions[0] && versions[1] == rows->versions[1])
        return ROTARY_OK;
    rotary_status status = read_biases(rows, parameters, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < rows->bias_elements; i++)
        rows->host[i] = rows->host[rows->bias_elements + i] - rows->host[i];
    status = rows->backend->operations->write(rows->backend, rows->query_bias, rows->host,
                                              (size_t)rows->bias_elements * sizeof *rows->host, error);
    for (int i = 0; status == ROTARY_OK && i < 2; i++)
        rows->versions[i] = versions[i];
    return status;
}

rotary_status distance_rows_clear_gradient(struct distance_rows *rows, rotary_error *error)
{
    if (!rows->query_bias_gradient)
        return ROTARY_OK;
    return rows->backend->operations->clear(rows->backend, rows->query_bias_gradient,
                                            (size_t)rows->bias_elements * sizeof *rows->query_bias_gradient,
                                            error);
}

/* Adds `sign` times the gradient of query_bias to that of a parameter. */
static rotary_status add_gradient(const struct distance_rows *rows, int index, float sign,
                                  struct parameters *parameters, rotary_error *error)
{
    if (!parameter_gradient(parameters, index))
        return ROTARY_OK;
    const float *d_bias = rows->host;
    float *sum = rows->host + rows->bias_elements;
    const struct parameter_range range = parameter_range(parameters, PARAMETER_GRADIENTS, index);
    rotary_status status = parameters_read(parameters, range, sum, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < rows->bias_elements; i++)
        sum[i] += sign * d_bias[i];
    return parameters_write(parameters, range, sum, error);
}

rotary_status distance_rows_backward(struct distance_rows *rows, struct parameters *parameters,
                                     rotary_error *error)
{
    if (!rows->query_bias_gradient)
        return ROTARY_OK;
    rotary_status status =
        rows->backend->operations->read(rows->backend, rows->host, rows->query_bias_gradient,
                                        (size_t)rows->bias_elements * sizeof *rows->host, error);
    if (status == ROTARY_OK)
        status = add_gradient(rows, rows->content_bias, -1.0f, parameters, error);
    return status == ROTARY_OK ? add_gradient(rows, rows->position_bias, 1.0f, parameters, error) : status;
}
