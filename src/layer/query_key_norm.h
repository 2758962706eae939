/* SPDX-License-Identifier: Apache-2.0
 *
 * The norms of queries and of keys (enum query_key_norm), for the sublayers of attention.
 */
#ifndef ROTARY_LAYER_QUERY_KEY_NORM_H
#define ROTARY_LAYER_QUERY_KEY_NORM_H

#include "layer/sublayer.h"

/* The norm of one projection: queries or keys. */
struct projection_norm {
    struct norm norm;
    int64_t heads;      /* vectors of a row that are normalised: heads, or 1 */
    float *mean, *rstd; /* saved: [rows, heads] */
};

/* "<config->name>.query_norm" and "<config->name>.key_norm". Adds nothing without norms. */
ROTARY_CHECKED rotary_status query_key_norms_create(struct projection_norm *query,
                                                    struct projection_norm *key,
                                                    const struct sublayer_config *config,
                                                    struct parameters *parameters, rotary_error *error);
void projection_norm_carve(struct projection_norm *norm, struct rotary_arena *arena, int64_t rows);
/* out = norm(in), both [rows, heads * head_dim] of the storage type. out may be in. */
ROTARY_CHECKED rotary_status projection_norm_forward(const struct projection_norm *norm,
                                                     const struct parameters *parameters, struct matrix out,
                                                     struct matrix in, rotary_error *error);
/* The gradient of in from that of out, in place. */
ROTARY_CHECKED rotary_status projection_norm_backward(const struct projection_norm *norm,
                                                      struct parameters *parameters, struct matrix gradient,
                                                      struct matrix in, rotary_error *error);

#endif
