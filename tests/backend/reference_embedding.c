/* SPDX-License-Identifier: Apache-2.0
 *
 * Embedding of the reference backend, and what moves rows.
 */
#include "backend/reference_operations.h"

static int64_t position_of(int64_t row, int64_t time, const int32_t *positions)
{
    return positions ? positions[row] : row % time;
}

static int64_t type_of(int64_t row, const int32_t *types)
{
    return types ? types[row] : 0;
}

rotary_status reference_embedding_forward(const struct backend *backend,
                                          const struct backend_embedding_forward *call, rotary_error *error)
{
    (void)error;
    int64_t width = call->width;
    reference_check_array(backend, call->out, call->rows * width, sizeof(float), "embedding");
    reference_check_array(backend, call->tokens, call->rows, sizeof(int32_t), "tokens");
    reference_check_array(backend, call->positions, call->rows, sizeof(int32_t), "positions");
    reference_check_array(backend, call->types, call->rows, sizeof(int32_t), "types");
    for (int64_t row = 0; row < call->rows; row++) {
        const float *token = call->table + call->tokens[row] * width, *position = NULL;
        reference_check_array(backend, token, width, sizeof(float), "embedding of a token");
        if (call->position_table)
            position = call->position_table + position_of(row, call->time, call->positions) * width;
        const float *type = call->type_table ? call->type_table + type_of(row, call->types) * width : NULL;
        reference_check_array(backend, position, width, sizeof(float), "embedding of a position");
        reference_check_array(backend, type, width, sizeof(float), "embedding of a type");
        for (int64_t i = 0; i < width; i++) {
            double x = (double)call->scale * (double)token[i] + (position ? (double)position[i] : 0.0) +
                       (type ? (double)type[i] : 0.0);
            call->out[row * width + i] = (float)(x * reference_dropout(call->dropout, row, i));
        }
    }
    return ROTARY_OK;
}

rotary_status reference_embedding_backward(const struct backend *backend,
                                           const struct backend_embedding_backward *call, rotary_error *error)
{
    (void)error;
    int64_t width = call->width;
    reference_check_array(backend, call->d_out, call->rows * width, sizeof(float), "gradient of embeddings");
    reference_check_array(backend, call->tokens, call->rows, sizeof(int32_t), "tokens");
    reference_check_array(backend, call->positions, call->rows, sizeof(int32_t), "positions");
    reference_check_array(backend, call->types, call->rows, sizeof(int32_t), "types");
    for (int64_t row = 0; row < call->rows; row++) {
        float *token = call->d_table ? call->d_table + call->tokens[row] * width : NULL, *position = NULL;
        if (call->d_position_table)
            position = call->d_position_table + position_of(row, call->time, call->positions) * width;
        reference_check_array(backend, token, width, sizeof(float), "gradient of a token");
        float *type = call->d_type_table ? call->d_type_table + type_of(row, call->types) * width : NULL;
        reference_check_array(backend, position, width, sizeof(float), "gradient of a position");
        reference_check_array(backend, type, width, sizeof(float), "gradient of a type");
        for (int64_t i = 0; i < width; i++) {
            double d = (double)call->d_out[row * width + i] * reference_dropout(call->dropout, row, i);
            if (token)
                token[i] = (float)((double)token[i] + (double)call->scale * d);
            if (position)
                position[i] = (float)((double)position[i] + d);
            if (type)
                type[i] = (float)((double)type[i] + d);
        }
    }
    return ROTARY_OK;
}

rotary_status reference_cast(const struct backend *backend, const struct backend_cast *call,
                             rotary_error *error)
{
    (void)error;
    struct matrix out = call->out;
    reference_check_matrix(backend, out, "output of a cast");
    reference_check_array(backend, call->in, out.rows * out.columns, sizeof(float), "input of a cast");
    for (int64_t row = 0; row < out.rows; row++)
        for (int64_t i = 0; i < out.columns; i++)
            reference_set(out, row, i, (double)call->in[row * out.columns + i]);
    return ROTARY_OK;
}

rotary_status reference_scale(const struct backend *backend, const struct backend_scale *call,
                              rotary_error *error)
{
    (void)error;
    reference_check_array(backend, call->to, call->count, sizeof(float), "what is scaled");
    for (int64_t i = 0; i < call->count; i++)
        call->to[i] = (float)((double)call->to[i] * (double)call->factor);
    return ROTARY_OK;
}

rotary_status reference_add(const struct backend *backend, const struct backend_add *call,
                            rotary_error *error)
{
    (void)error;
    struct matrix in = call->in;
    reference_check_matrix(backend, in, "what is added");
    reference_check_array(backend, call->to, in.rows * in.columns, sizeof(float), "sum");
    for (int64_t row = 0; row < in.rows; row++)
        for (int64_t i = 0; i < in.columns; i++) {
            float *to = &call->to[row * in.columns + i];
            *to = (float)((double)*to + reference_get(in, row, i));
        }
    return ROTARY_OK;
}

rotary_status reference_add_matrix(const struct backend *backend, const struct backend_add_matrix *call,
                                   rotary_error *error)
{
    (void)error;
    struct matrix to = call->to;
    reference_check_matrix(backend, to, "sum of matrices");
    reference_check_matrix(backend, call->in, "matrix that is added");
    for (int64_t row = 0; row < to.rows; row++)
        for (int64_t i = 0; i < to.columns; i++)
            reference_set(to, row, i, reference_get(to, row, i) + reference_get(call->in, row, i));
    return ROTARY_OK;
}

rotary_status reference_add_to_rows(const struct backend *backend, const struct backend_add_to_rows *call,
                                    rotary_error *error)
{
    (void)error;
    struct matrix rows = call->rows;
    reference_check_matrix(backend, rows, "rows that a vector is added to");
    reference_check_array(backend, call->vector, rows.columns, sizeof(float), "vector that is added");
    for (int64_t row = 0; row < rows.rows; row++)
        for (int64_t i = 0; i < rows.columns; i++)
            reference_set(rows, row, i, reference_get(rows, row, i) + (double)call->vector[i]);
    return ROTARY_OK;
}

rotary_status reference_copy_rows(const struct backend *backend, const struct backend_copy_rows *call,
                                  rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->out, "copied rows");
    reference_check_host(backend, call->index, "indices of rows");
    for (int64_t row = 0; row < call->out.rows; row++) {
        struct matrix from = matrix_rows(call->in, call->index ? call->index[row] : row, 1);
        reference_check_matrix(backend, from, "rows to copy");
        for (int64_t i = 0; i < call->out.columns; i++)
            reference_set(call->out, row, i, reference_get(from, 0, i));
    }
    return ROTARY_OK;
}

rotary_status reference_scatter_rows(const struct backend *backend, const struct backend_scatter_rows *call,
                                     rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->in, "rows to scatter");
    reference_check_host(backend, call->index, "indices of rows");
    for (int64_t row = 0; row < call->in.rows; row++) {
        struct matrix to = matrix_rows(call->out, call->index[row], 1);
        reference_check_matrix(backend, to, "scattered rows");
        for (int64_t i = 0; i < call->in.columns; i++)
            reference_set(to, 0, i, reference_get(call->in, row, i));
    }
    return ROTARY_OK;
}

rotary_status reference_mean_rows_forward(const struct backend *backend,
                                          const struct backend_mean_rows_forward *call, rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->out, "means of rows");
    reference_check_host(backend, call->first, "first rows of means");
    reference_check_host(backend, call->counts, "counts of rows of means");
    for (int64_t mean = 0; mean < call->out.rows; mean++) {
        struct matrix from = matrix_rows(call->in, call->first[mean], call->counts[mean]);
        reference_check_matrix(backend, from, "rows that have a mean");
        for (int64_t i = 0; i < call->out.columns; i++) {
            double sum = 0.0;
            for (int64_t row = 0; row < from.rows; row++)
                sum += reference_get(from, row, i);
            reference_set(call->out, mean, i, sum / (double)from.rows);
        }
    }
    return ROTARY_OK;
}

rotary_status reference_mean_rows_backward(const struct backend *backend,
                                           const struct backend_mean_rows_backward *call, rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->d_out, "gradient of means of rows");
    reference_check_host(backend, call->first, "first rows of means");
    reference_check_host(backend, call->counts, "counts of rows of means");
    for (int64_t mean = 0; mean < call->d_out.rows; mean++) {
        struct matrix to = matrix_rows(call->d_in, call->first[mean], call->counts[mean]);
        reference_check_matrix(backend, to, "gradient of rows that have a mean");
        for (int64_t row = 0; row < to.rows; row++)
            for (int64_t i = 0; i < to.columns; i++)
                reference_set(to, row, i, reference_get(call->d_out, mean, i) / (double)to.rows);
    }
    return ROTARY_OK;
}

rotary_status reference_drop(const struct backend *backend, const struct backend_drop *call,
                             rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->out, "output of dropout");
    reference_check_matrix(backend, call->in, "input of dropout");
    for (int64_t row = 0; row < call->out.rows; row++)
        for (int64_t i = 0; i < call->out.columns; i++)
            reference_set(call->out, row, i,
                          reference_get(call->in, row, i) * reference_dropout(call->dropout, row, i));
    return ROTARY_OK;
}
