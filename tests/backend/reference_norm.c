/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms of the reference backend.
 */
#include "backend/reference_operations.h"

#include "base/fail.h"
#include "base/random.h"

#include <math.h>

double reference_dropout(struct dropout dropout, int64_t row, int64_t column)
{
    enum { SITE_SHIFT = 8 };
    double probability = (double)dropout.probability;
    if (!(probability > 0.0 && probability < 1.0))
        return 1.0;
    struct rotary_random_key key = {dropout.seed, ROTARY_STREAM_DROPOUT | dropout.site << SITE_SHIFT,
                                    dropout.step};
    uint32_t words[4];
    rotary_random_block(
        key, (uint64_t)(dropout.first_row + row) << 32 | (uint64_t)(column / 64 * 16 + column % 16), words);
    double threshold = fmin(rint(probability * 0x1p32), 0x1p32 - 1.0);
    return (double)words[column / 16 % 4] < threshold ? 0.0 : (double)(float)(1.0 / (1.0 - probability));
}

struct moments {
    double mean, rstd;
};

static struct moments moments_of(const double *x, int64_t width, const struct norm_weights *norm)
{
    struct moments moments = {0};
    double variance = 0.0, count = (double)width;
    for (int64_t i = 0; norm->kind == NORM_LAYER && i < width; i++)
        moments.mean += x[i] / count;
    for (int64_t i = 0; i < width; i++)
        variance += (x[i] - moments.mean) * (x[i] - moments.mean) / count;
    moments.rstd = 1.0 / sqrt(variance + (double)norm->epsilon);
    return moments;
}

static double normalise(const struct norm_weights *norm, struct moments moments, double x, int64_t i)
{
    if (norm->kind == NORM_NONE)
        return x;
    double bias = norm->bias ? (double)norm->bias[i] : 0.0;
    return (double)norm->gain[i] * (x - moments.mean) * moments.rstd + bias;
}

static void check_weights(const struct backend *backend, const struct norm_weights *norm, int64_t width)
{
    reference_check_array(backend, norm->gain, width, sizeof(float), "gain");
    reference_check_array(backend, norm->bias, width, sizeof(float), "bias of a norm");
}

/* A row of doubles, [width], of at most this width. */
enum { MAX_WIDTH = 4096 };

static rotary_status check_width(int64_t width, rotary_error *error)
{
    if (width >= 1 && width <= MAX_WIDTH)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_UNSUPPORTED, "a norm of %lld columns: the reference backend has 1 to %d",
                       (long long)width, MAX_WIDTH);
}

/* x = residual + dropout(sublayer_output), which is stored too, of a row. */
static void residual_sum(const struct backend_norm_forward *call, int64_t row, double *x)
{
    for (int64_t i = 0; i < call->width; i++) {
        int64_t at = row * call->width + i;
        x[i] = (double)call->residual[at];
        if (!call->sublayer_output.data)
            continue;
        x[i] += reference_get(call->sublayer_output, row, i) * reference_dropout(call->dropout, row, i);
        call->residual_sum[at] = (float)x[i];
    }
}

rotary_status reference_norm_forward(const struct backend *backend, const struct backend_norm_forward *call,
                                     rotary_error *error)
{
    int64_t width = call->width, elements = call->rows * width;
    double x[MAX_WIDTH];
    rotary_status status = check_width(width, error);
    check_weights(backend, &call->norm, width);
    reference_check_array(backend, call->residual, elements, sizeof(float), "residual");
    reference_check_matrix(backend, call->sublayer_output, "output of a sublayer");
    reference_check_array(backend, call->residual_sum, elements, sizeof(float), "residual sum");
    reference_check_matrix(backend, call->normalised, "output of a norm");
    reference_check_array(backend, call->normalised_f32, elements, sizeof(float), "f32 output of a norm");
    reference_check_array(backend, call->mean, call->rows, sizeof(float), "mean");
    reference_check_array(backend, call->rstd, call->rows, sizeof(float), "rstd");
    for (int64_t row = 0; status == ROTARY_OK && row < call->rows; row++) {
        residual_sum(call, row, x);
        struct moments moments = moments_of(x, width, &call->norm);
        for (int64_t i = 0; i < width; i++) {
            double y = normalise(&call->norm, moments, x[i], i);
            if (call->normalised.data)
                reference_set(call->normalised, row, i, y);
            if (call->normalised_f32)
                call->normalised_f32[row * width + i] = (float)y;
        }
        if (call->mean) {
            call->mean[row] = (float)moments.mean;
            call->rstd[row] = (float)moments.rstd;
        }
    }
    return status;
}

/* d, the gradients of the outputs of a row, becomes that of the inputs x; adds those of gain and bias. */
static void row_backward(const struct norm_weights *norm, struct moments moments, const double *x, double *d,
                         int64_t width, float *d_gain, float *d_bias)
{
    double mean_g = 0.0, mean_gx = 0.0;
    if (norm->kind == NORM_NONE)
        return;
    for (int64_t i = 0; i < width; i++) {
        double normalised = (x[i] - moments.mean) * moments.rstd, g = d[i] * (double)norm->gain[i];
        mean_g += norm->kind == NORM_LAYER ? g / (double)width : 0.0;
        mean_gx += g * normalised / (double)width;
        if (d_gain)
            d_gain[i] = (float)((double)d_gain[i] + d[i] * normalised);
        if (d_bias)
            d_bias[i] = (float)((double)d_bias[i] + d[i]);
    }
    for (int64_t i = 0; i < width; i++) {
        double normalised = (x[i] - moments.mean) * moments.rstd, g = d[i] * (double)norm->gain[i];
        d[i] = moments.rstd * (g - mean_g - normalised * mean_gx);
    }
}

static void check_backward(const struct backend *backend, const struct backend_norm_backward *call)
{
    int64_t elements = call->rows * call->width;
    reference_check_array(backend, call->norm.gain, call->width, sizeof(float), "gain");
    reference_check_array(backend, call->d_gain, call->width, sizeof(float), "gradient of the gain");
    reference_check_array(backend, call->d_bias, call->width, sizeof(float), "gradient of the bias");
    reference_check_array(backend, call->residual_sum, elements, sizeof(float), "residual sum");
    reference_check_array(backend, call->mean, call->rows, sizeof(float), "mean");
    reference_check_array(backend, call->rstd, call->rows, sizeof(float), "rstd");
    reference_check_matrix(backend, call->d_normalised, "gradient of a norm's output");
    reference_check_array(backend, call->d_normalised_f32, elements, sizeof(float), "f32 gradient of a norm");
    reference_check_array(backend, call->d_residual, elements, sizeof(float), "gradient of the residual");
    reference_check_matrix(backend, call->d_sublayer_output, "gradient of a sublayer's output");
}

rotary_status reference_norm_backward(const struct backend *backend, const struct backend_norm_backward *call,
                                      rotary_error *error)
{
    int64_t width = call->width;
    double x[MAX_WIDTH], d[MAX_WIDTH];
    rotary_status status = check_width(width, error);
    check_backward(backend, call);
    for (int64_t row = 0; status == ROTARY_OK && row < call->rows; row++) {
        struct moments moments = {0};
        if (call->norm.kind != NORM_NONE)
            moments = (struct moments){(double)call->mean[row], (double)call->rstd[row]};
        for (int64_t i = 0; i < width; i++) {
            int64_t at = row * width + i;
            x[i] = call->norm.kind != NORM_NONE ? (double)call->residual_sum[at] : 0.0;
            d[i] = call->d_normalised.data ? reference_get(call->d_normalised, row, i) : 0.0;
            d[i] += call->d_normalised_f32 ? (double)call->d_normalised_f32[at] : 0.0;
        }
        row_backward(&call->norm, moments, x, d, width, call->d_gain, call->d_bias);
        for (int64_t i = 0; i < width; i++) {
            int64_t at = row * width + i;
            double total = d[i] + (call->accumulate ? (double)call->d_residual[at] : 0.0);
            call->d_residual[at] = (float)total;
            if (call->d_sublayer_output.data)
                reference_set(call->d_sublayer_output, row, i,
                              total * reference_dropout(call->dropout, row, i));
        }
    }
    return status;
}

/* The columns of one head. */
static struct matrix head_of(struct matrix matrix, int64_t heads, int64_t head)
{
    int64_t width = matrix.columns / heads;
    return matrix_block(matrix, 0, matrix.rows, head * width, width);
}

static void get_row(struct matrix matrix, int64_t row, double *x)
{
    for (int64_t i = 0; i < matrix.columns; i++)
        x[i] = reference_get(matrix, row, i);
}

rotary_status reference_head_norm_forward(const struct backend *backend,
                                          const struct backend_head_norm_forward *call, rotary_error *error)
{
    int64_t width = call->in.columns / call->heads, count = call->in.rows * call->heads;
    double x[MAX_WIDTH];
    rotary_status status = check_width(width, error);
    check_weights(backend, &call->norm, width);
    reference_check_matrix(backend, call->in, "input of a norm of heads");
    reference_check_matrix(backend, call->out, "output of a norm of heads");
    reference_check_array(backend, call->mean, count, sizeof(float), "mean");
    reference_check_array(backend, call->rstd, count, sizeof(float), "rstd");
    for (int64_t i = 0; status == ROTARY_OK && i < count; i++) {
        int64_t row = i / call->heads, head = i % call->heads;
        get_row(head_of(call->in, call->heads, head), row, x);
        struct moments moments = moments_of(x, width, &call->norm);
        for (int64_t column = 0; column < width; column++)
            reference_set(head_of(call->out, call->heads, head), row, column,
                          normalise(&call->norm, moments, x[column], column));
        if (call->mean)
            call->mean[i] = (float)moments.mean;
        if (call->rstd)
            call->rstd[i] = (float)moments.rstd;
    }
    return status;
}

rotary_status reference_head_norm_backward(const struct backend *backend,
                                           const struct backend_head_norm_backward *call, rotary_error *error)
{
    int64_t width = call->in.columns / call->heads, count = call->in.rows * call->heads;
    double x[MAX_WIDTH], d[MAX_WIDTH];
    rotary_status status = check_width(width, error);
    check_weights(backend, &call->norm, width);
    reference_check_matrix(backend, call->in, "input of a norm of heads");
    reference_check_matrix(backend, call->d_out, "gradient of a norm of heads");
    reference_check_matrix(backend, call->d_in, "gradient of the input of a norm of heads");
    reference_check_array(backend, call->mean, count, sizeof(float), "mean");
    reference_check_array(backend, call->rstd, count, sizeof(float), "rstd");
    reference_check_array(backend, call->d_gain, width, sizeof(float), "gradient of the gain");
    reference_check_array(backend, call->d_bias, width, sizeof(float), "gradient of the bias");
    for (int64_t i = 0; status == ROTARY_OK && i < count; i++) {
        int64_t row = i / call->heads, head = i % call->heads;
        struct moments moments = {call->norm.kind == NORM_LAYER ? (double)call->mean[i] : 0.0,
                                  (double)call->rstd[i]};
        get_row(head_of(call->in, call->heads, head), row, x);
        get_row(head_of(call->d_out, call->heads, head), row, d);
        row_backward(&call->norm, moments, x, d, width, call->d_gain, call->d_bias);
        for (int64_t column = 0; column < width; column++)
            reference_set(head_of(call->d_in, call->heads, head), row, column, d[column]);
    }
    return status;
}
