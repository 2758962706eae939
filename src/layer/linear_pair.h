/* SPDX-License-Identifier: Apache-2.0
 *
 * The two linear layers of a sublayer. The first maps from the width of the residual stream, the second back
 * to it. Attention layers and feed-forward layers each have such a pair.
 */
#ifndef ROTARY_LAYER_LINEAR_PAIR_H
#define ROTARY_LAYER_LINEAR_PAIR_H

#include "layer/linear.h"

/* The part of the configuration that attention and feed-forward layers share. */
struct sublayer_config {
    const char *name;
    int64_t width; /* of the residual stream */
    int64_t rows;  /* the maximum per call: batch * time */
    bool bias, training;
    enum initialisation initial, bias_initial;
    float in_scale, out_scale; /* of the initial weights and biases */
};

struct linear_pair {
    struct linear *in;  /* "<name>.<in_name>": width -> in_outputs */
    struct linear *out; /* "<name>.<out_name>": out_inputs -> width */
};

struct linear_pair_shape {
    const char *in_name, *out_name;
    int64_t in_outputs, out_inputs;
};

ROTARY_CHECKED rotary_status linear_pair_create(struct linear_pair *pair, const struct backend *backend,
                                                const struct sublayer_config *config,
                                                const struct linear_pair_shape *shape,
                                                struct parameters *parameters, rotary_error *error);
void linear_pair_destroy(struct linear_pair *pair);
ROTARY_CHECKED rotary_status linear_pair_prepare(struct linear_pair *pair,
                                                 const struct parameters *parameters, rotary_error *error);
size_t linear_pair_bytes(const struct linear_pair *pair);

#endif
