/* SPDX-License-Identifier: Apache-2.0
 *
 * LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019), fused with the residual sum before them:
 *
 *     residual_sum = residual + dropout(sublayer_output)
 *     normalised = gain * (residual_sum - mean) / sqrt(variance + epsilon) + bias
 *
 * with mean and variance of the row. RMSNorm has neither mean nor bias. All arithmetic is f32.
 */
#ifndef ROTARY_LAYER_NORM_H
#define ROTARY_LAYER_NORM_H

#include "backend/backend.h"
#include "backend/matrix.h"
#include "backend/parameters.h"
#include "layer/dropout.h"

enum norm_kind { NORM_LAYER, NORM_RMS };

struct norm {
    enum norm_kind kind;
    int64_t width;
    float epsilon;
    int gain, bias; /* rows of the table; bias is -1 for RMSNorm */
};

struct norm_config {
    const char *name; /* adds "<name>.weight" (ones) and, for LayerNorm, "<name>.bias" (zeros) */
    enum norm_kind kind;
    int64_t width;
    float epsilon;
};
ROTARY_CHECKED rotary_status norm_create(struct norm *norm, const struct norm_config *config,
                                         struct parameters *parameters, rotary_error *error);

struct norm_forward_call {
    int64_t rows;
    const float *residual;         /* [rows, width] */
    struct matrix sublayer_output; /* storage type; data NULL: none, and residual_sum is not written */
    struct dropout dropout;        /* of sublayer_output */
    float *residual_sum;           /* [rows, width]; may be residual itself */
    struct matrix normalised;      /* storage type */
    float *normalised_f32;         /* [rows, width], for post-norm's residual stream; NULL: not wanted */
    float *mean, *rstd; /* [rows]: mean, 1/sqrt(variance + epsilon), for backward; NULL: not wanted */
};
void norm_forward(const struct norm *norm, const struct backend *backend, const struct parameters *parameters,
                  const struct norm_forward_call *call);

struct norm_backward_call {
    int64_t rows;
    const float
        *residual_sum; /* what forward normalised: residual_sum, or residual without sublayer_output */
    const float *mean, *rstd;
    struct matrix d_normalised;    /* storage type; data NULL: none */
    const float *d_normalised_f32; /* added to d_normalised; NULL: none. May be d_residual itself */
    bool accumulate;               /* true (pre-norm): d_residual += the gradient of residual_sum; else = */
    float *d_residual; /* [rows, width]: the gradient of residual_sum, which is that of residual */
    struct matrix d_sublayer_output; /* storage type: d_residual through dropout; data NULL: not wanted */
    struct dropout dropout;
    float *scratch; /* norm_scratch(norm, rows) floats */
};
/* Floats of scratch for `rows` rows: partial sums of d_gain and d_bias, which are added in an order that
 * depends on the number of rows alone. */
int64_t norm_scratch(const struct norm *norm, int64_t rows);
void norm_backward(const struct norm *norm, const struct backend *backend, struct parameters *parameters,
                   const struct norm_backward_call *call);

#endif
