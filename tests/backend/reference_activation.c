/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations of the reference backend.
 */
#include "backend/reference_operations.h"

#include <math.h>

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double cumulative(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

static double density(double x)
{
    return exp(-0.5 * x * x) / sqrt(2.0 * 3.14159265358979324);
}

/* sqrt(2 / pi) (x + 0.044715 x^3), and its derivative. */
static double gelu_argument(double x)
{
    return sqrt(2.0 / 3.14159265358979324) * (x + 0.044715 * x * x * x);
}

static double gelu_slope(double x)
{
    return sqrt(2.0 / 3.14159265358979324) * (1.0 + 3.0 * 0.044715 * x * x);
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(gelu_argument(x)));
}

static double gelu_tanh_derivative(double x)
{
    double t = tanh(gelu_argument(x));
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * gelu_slope(x);
}

/* Element i of a row, of `columns`. */
static double activated(enum activation kind, struct matrix pre, int64_t row, int64_t i, int64_t columns)
{
    double x = reference_get(pre, row, i);
    if (kind == ACTIVATION_GELU)
        return x * cumulative(x);
    if (kind == ACTIVATION_TANH)
        return tanh(x);
    if (kind == ACTIVATION_GELU_TANH)
        return gelu_tanh(x);
    if (kind == ACTIVATION_GEGLU_TANH)
        return gelu_tanh(x) * reference_get(pre, row, columns + i);
    if (kind == ACTIVATION_SWIGLU)
        return x * sigmoid(x) * reference_get(pre, row, columns + i);
    return x > 0.0 ? x : 0.0;
}

rotary_status reference_activation_forward(const struct backend *backend,
                                           const struct backend_activation_forward *call, rotary_error *error)
{
    (void)error;
    struct matrix out = call->out;
    reference_check_matrix(backend, out, "output of an activation");
    reference_check_matrix(backend, call->pre, "input of an activation");
    for (int64_t row = 0; row < out.rows; row++)
        for (int64_t i = 0; i < out.columns; i++) {
            double y = activated(call->kind, call->pre, row, i, out.columns);
            reference_set(out, row, i, y * reference_dropout(call->dropout, row, i));
        }
    return ROTARY_OK;
}

rotary_status reference_activation_backward(const struct backend *backend,
                                            const struct backend_activation_backward *call,
                                            rotary_error *error)
{
    (void)error;
    struct matrix d_out = call->d_out;
    reference_check_matrix(backend, d_out, "gradient of an activation");
    reference_check_matrix(backend, call->saved, "saved input or output of an activation");
    reference_check_matrix(backend, call->d_pre, "gradient of the input of an activation");
    if (call->out.data)
        reference_check_matrix(backend, call->out, "output of an activation, again");
    for (int64_t row = 0; row < d_out.rows; row++)
        for (int64_t i = 0; i < d_out.columns; i++) {
            double kept = reference_dropout(call->dropout, row, i), d = reference_get(d_out, row, i) * kept,
                   x = reference_get(call->saved, row, i);
            if (call->out.data)
                reference_set(call->out, row, i,
                              kept * activated(call->kind, call->saved, row, i, d_out.columns));
            double derivative = x > 0.0 ? 1.0 : 0.0;
            if (call->kind == ACTIVATION_GELU)
                derivative = cumulative(x) + x * density(x);
            if (call->kind == ACTIVATION_TANH)
                derivative = 1.0 - tanh(x) * tanh(x);
            if (call->kind == ACTIVATION_GELU_TANH)
                derivative = gelu_tanh_derivative(x);
            if (call->kind == ACTIVATION_GEGLU_TANH) {
                derivative = reference_get(call->saved, row, d_out.columns + i) * gelu_tanh_derivative(x);
                reference_set(call->d_pre, row, d_out.columns + i, d * gelu_tanh(x));
            }
            if (call->kind == ACTIVATION_SWIGLU) {
                double s = sigmoid(x);
                derivative = reference_get(call->saved, row, d_out.columns + i) * s * (1.0 + x * (1.0 - s));
                reference_set(call->d_pre, row, d_out.columns + i, d * x * s);
            }
            reference_set(call->d_pre, row, i, d * derivative);
        }
    return ROTARY_OK;
}
