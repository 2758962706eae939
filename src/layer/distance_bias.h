/* SPDX-License-Identifier: Apache-2.0
 *
 * The bias by distance that an encoding adds to scores, in the memory of a backend.
 */
#ifndef ROTARY_LAYER_DISTANCE_BIAS_H
#define ROTARY_LAYER_DISTANCE_BIAS_H

#include "backend/backend.h"
#include "layer/encoding.h"

struct distance_bias {
    rotary_attention_distance_bias call; /* for attention's calls; data NULL: there is no bias */
    float *memory;                       /* [heads, distances], of the backend, owned */
    const struct backend *backend;
};

/* The bias of sequences of at most `positions` tokens; an empty one where the encoding has none. Causal
 * attention has no distances above 0. */
struct distance_bias_config {
    enum position position;
    int64_t heads, positions;
    bool causal;
};
ROTARY_CHECKED rotary_status distance_bias_create(struct distance_bias *bias, const struct backend *backend,
                                                  const struct distance_bias_config *config,
                                                  rotary_error *error);
void distance_bias_destroy(struct distance_bias *bias);
/* Bytes that distance_bias_create would allocate. */
double distance_bias_bytes(const struct distance_bias_config *config);

#endif
