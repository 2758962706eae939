/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products of the reference backend, and the elements of matrices.
 */
#include "backend/reference_operations.h"

#include "base/element.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

double reference_get(struct matrix matrix, int64_t row, int64_t column)
{
    return (double)rotary_element(matrix.data, row * matrix.stride + column, matrix.dtype);
}

void reference_set(struct matrix matrix, int64_t row, int64_t column, double value)
{
    rotary_set_element(matrix.data, row * matrix.stride + column, matrix.dtype, (float)value);
}

rotary_status reference_packed_weight_create(const struct backend *backend, struct packed_weight **weight,
                                             const struct packed_weight_config *config, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a packed weight");
    made->config = *config;
    made->weight = matrix_of(NULL, config->dtype, config->inner, config->columns);
    rotary_status status = backend->operations->allocate(
        backend, &made->weight.data, reference_packed_weight_bytes(backend, made), "a packed weight", error);
    if (status == ROTARY_OK)
        *weight = made;
    else
        free(made);
    return status;
}

void reference_packed_weight_destroy(const struct backend *backend, struct packed_weight *weight)
{
    if (!weight)
        return;
    backend->operations->release(backend, weight->weight.data);
    free(weight);
}

size_t reference_packed_weight_bytes(const struct backend *backend, const struct packed_weight *weight)
{
    (void)backend;
    return (size_t)(weight->config.inner * weight->config.columns) * rotary_dtype_size(weight->config.dtype);
}

rotary_status reference_pack_weight(const struct backend *backend, const struct backend_pack_weight *call,
                                    rotary_error *error)
{
    (void)error;
    const struct packed_weight_config *config = &call->weight->config;
    reference_check_array(backend, call->source, config->inner * config->columns, sizeof(float), "weight");
    for (int64_t i = 0; i < config->inner; i++)
        for (int64_t j = 0; j < config->columns; j++) {
            int64_t at = config->transposed ? j * config->inner + i : i * config->columns + j;
            reference_set(call->weight->weight, i, j, (double)call->source[at]);
        }
    return ROTARY_OK;
}

/* The number of row `row`, column `column` of a weight as a file has it. */
static double stored_number(const struct stored_weight *weight, int64_t row, int64_t column)
{
    for (int64_t i = 0; i < weight->count; i++) {
        const struct stored_rows *part = &weight->parts[i];
        if (row >= part->first && row < part->first + part->rows)
            return (double)rotary_element(part->data, (row - part->first) * weight->columns + column,
                                          part->dtype);
    }
    return NAN;
}

rotary_status reference_stored_matmul(const struct backend *backend, const struct backend_stored_matmul *call,
                                      rotary_error *error)
{
    (void)error;
    const struct stored_weight *weight = call->weight;
    reference_check_matrix(backend, call->out, "output of a matmul");
    reference_check_matrix(backend, call->in, "input of a matmul");
    reference_check_array(backend, call->bias, weight->rows, sizeof(float), "bias");
    for (int64_t row = 0; row < call->out.rows; row++)
        for (int64_t column = 0; column < weight->rows; column++) {
            double sum = call->bias ? (double)call->bias[column] : 0.0;
            for (int64_t i = 0; i < weight->columns; i++)
                sum += reference_get(call->in, row, i) * stored_number(weight, column, i);
            reference_set(call->out, row, column,
                          call->epilogue == MATMUL_EPILOGUE_RELU && sum < 0.0 ? 0.0 : sum);
        }
    return ROTARY_OK;
}

rotary_status reference_stored_embedding(const struct backend *backend,
                                         const struct backend_stored_embedding *call, rotary_error *error)
{
    (void)error;
    const int64_t width = call->table->columns;
    reference_check_array(backend, call->out, call->rows * width, sizeof(float), "embedding");
    reference_check_array(backend, call->tokens, call->rows, sizeof(int32_t), "tokens");
    for (int64_t row = 0; row < call->rows; row++)
        for (int64_t i = 0; i < width; i++)
            call->out[row * width + i] =
                (float)((double)call->scale * stored_number(call->table, call->tokens[row], i));
    return ROTARY_OK;
}

rotary_status reference_matmul(const struct backend *backend, const struct backend_matmul *call,
                               rotary_error *error)
{
    (void)error;
    struct matrix weight = call->weight->weight;
    reference_check_matrix(backend, call->out, "output of a matmul");
    reference_check_matrix(backend, call->in, "input of a matmul");
    reference_check_array(backend, call->bias, weight.columns, sizeof(float), "bias");
    for (int64_t row = 0; row < call->out.rows; row++)
        for (int64_t column = 0; column < weight.columns; column++) {
            double sum = call->bias ? (double)call->bias[column] : 0.0;
            for (int64_t i = 0; i < weight.rows; i++)
                sum += reference_get(call->in, row, i) * reference_get(weight, i, column);
            if (call->epilogue == MATMUL_EPILOGUE_RELU && sum < 0.0)
                sum = 0.0;
            reference_set(call->out, row, column, sum);
        }
    return ROTARY_OK;
}

rotary_status reference_weight_gradient(const struct backend *backend,
                                        const struct backend_weight_gradient *call, rotary_error *error)
{
    (void)error;
    struct matrix a = call->a, b = call->b;
    reference_check_matrix(backend, a, "gradient of the output");
    reference_check_matrix(backend, b, "input of the layer");
    reference_check_array(backend, call->gradient, a.columns * b.columns, sizeof(float), "weight gradient");
    reference_check_array(backend, call->sums, a.columns, sizeof(float), "bias gradient");
    for (int64_t i = 0; i < a.columns; i++) {
        double sum = 0.0;
        for (int64_t row = 0; row < a.rows; row++)
            sum += reference_get(a, row, i);
        if (call->sums)
            call->sums[i] = (float)((double)call->sums[i] + sum);
        for (int64_t j = 0; call->gradient && j < b.columns; j++) {
            float *to = &call->gradient[i * b.columns + j];
            double product = 0.0;
            for (int64_t row = 0; row < a.rows; row++)
                product += reference_get(a, row, i) * reference_get(b, row, j);
            *to = (float)((double)*to + product);
        }
    }
    return ROTARY_OK;
}
