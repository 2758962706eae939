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

rotary_status reference_activation_forward(const struct backend *backend,
                                           const struct backend_activation_forward *call, rotary_error *error)
{
    (void)error;
    struct matrix out = call->out;
    reference_check_matrix(backend, out, "output of an activation");
    reference_check_matrix(backend, call->pre, "input of an activation");
    for (int64_t row = 0; row < out.rows; row++)
        for (int64_t i = 0; i < out.columns; i++) {
            double x = reference_get(call->pre, row, i), y = x > 0.0 ? x : 0.0;
            if (call->kind == ACTIVATION_GELU)
                y = x * cumulative(x);
            if (call->kind == ACTIVATION_TANH)
                y = tanh(x);
            if (call->kind == ACTIVATION_GELU_TANH)
                y = gelu_tanh(x);
            if (call->kind == ACTIVATION_GEGLU_TANH)
                y = gelu_tanh(x) * reference_get(call->pre, row, out.columns + i);
            if (call->kind == ACTIVATION_SWIGLU)
                y = x * sigmoid(x) * reference_get(call->pre, row, out.columns + i);
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
    for (int64_t row = 0; row < d_out.rows; row++)
        for (int64_t i = 0; i < d_out.columns; i++) {
            double d = reference_get(d_out, row, i) * reference_dropout(call->dropout, row, i),
                   x = reference_get(call->saved, row, i);
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
