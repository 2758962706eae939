/* SPDX-License-Identifier: Apache-2.0
 *
 * LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019), fused with the residual sum before them:
 *
 *     sum = residual + dropout(branch)
 *     normalised = gain * (sum - mean(sum)) / sqrt(var(sum) + epsilon) + bias
 *
 * RMSNorm leaves out mean and bias. All arithmetic is f32.
 */
#ifndef ROTARY_LAYER_NORM_H
#define ROTARY_LAYER_NORM_H

#include "layer/dropout.h"
#include "tensor/compute.h"
#include "tensor/matrix.h"
#include "tensor/parameters.h"

enum norm_kind { NORM_LAYER, NORM_RMS };

struct norm {
    enum norm_kind kind;
    int64_t width;
    float epsilon;
    int gain, bias; /* rows of the table; bias is -1 for RMSNorm */
};

/* Adds "<name>.weight" (ones) and, for LayerNorm, "<name>.bias" (zeros). */
ROTARY_CHECKED rotary_status norm_create(struct norm *norm, enum norm_kind kind, const char *name,
                                         int64_t width, float epsilon, struct parameters *parameters,
                                         rotary_error *error);

struct norm_forward_call {
    int64_t rows;
    const float *residual;         /* [rows, width] */
    struct matrix sublayer_output; /* storage type; data NULL: sum = residual, and `sum` is not written */
    struct dropout dropout;        /* of the branch */
    float *residual_sum;           /* [rows, width]; may be residual itself */
    struct matrix normalised;      /* storage type */
    float *normalised_f32;         /* [rows, width], for post-norm's residual stream; NULL: not wanted */
    float *mean, *rstd; /* [rows]: mean and 1/sqrt(var + epsilon), for the backward pass; NULL: not wanted */
};
void norm_forward(const struct norm *norm, const struct compute *compute, const struct parameters *parameters,
                  const struct norm_forward_call *call);

struct norm_backward_call {
    int64_t rows;
    const float *residual_sum; /* what was normalised: `sum`, or `residual` when there was no branch */
    const float *mean, *rstd;
    struct matrix d_normalised;    /* storage type; data NULL: none */
    const float *d_normalised_f32; /* added to the above; NULL: none. May be d_residual itself */
    bool accumulate;               /* d_residual += gradient of sum, as pre-norm wants, instead of = */
    float *d_residual;             /* [rows, width]: the gradient of sum, which is that of residual */
    struct matrix
        d_sublayer_output; /* storage type: dropout's gradient of the finished d_residual; NULL: not wanted */
    struct dropout dropout;
    float *scratch; /* norm_scratch(norm, rows) floats */
};
/* Floats of scratch for `rows` rows: partial sums of d_gain and d_bias, combined in an order that depends on
 * the number of rows alone. */
int64_t norm_scratch(const struct norm *norm, int64_t rows);
void norm_backward(const struct norm *norm, const struct compute *compute, struct parameters *parameters,
                   const struct norm_backward_call *call);

#endif
