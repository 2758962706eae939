/* SPDX-License-Identifier: Apache-2.0
 *
 * LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019), fused with the residual sum before them,
 * and norms of heads: backend/operation_calls.h has the equations.
 */
#ifndef ROTARY_LAYER_NORM_H
#define ROTARY_LAYER_NORM_H

#include "backend/parameters.h"

struct norm {
    enum norm_kind kind;
    int64_t width; /* of what is normalised: a row, or a head of it */
    float epsilon;
    int gain, bias; /* rows of the table; bias is -1 for RMSNorm, both for NORM_NONE */
};

struct norm_config {
    const char *name;    /* adds "<name>.weight" (ones) and, for LayerNorm, "<name>.bias" (zeros) */
    enum norm_kind kind; /* NORM_NONE adds nothing */
    int64_t width;
    float epsilon;
};
ROTARY_CHECKED rotary_status norm_create(struct norm *norm, const struct norm_config *config,
                                         struct parameters *parameters, rotary_error *error);

/* The operations of these names, of which the members that follow from `norm` and the parameters are not
 * read: norm, width, d_gain and d_bias. */
ROTARY_CHECKED rotary_status norm_forward(const struct norm *norm, const struct parameters *parameters,
                                          const struct backend_norm_forward *call, rotary_error *error);
ROTARY_CHECKED rotary_status norm_backward(const struct norm *norm, struct parameters *parameters,
                                           const struct backend_norm_backward *call, rotary_error *error);
/* The heads of call->in have the width of the norm. */
ROTARY_CHECKED rotary_status head_norm_forward(const struct norm *norm, const struct parameters *parameters,
                                               const struct backend_head_norm_forward *call,
                                               rotary_error *error);
ROTARY_CHECKED rotary_status head_norm_backward(const struct norm *norm, struct parameters *parameters,
                                                const struct backend_head_norm_backward *call,
                                                rotary_error *error);

#endif
