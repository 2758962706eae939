/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the rows of a model's query and key projections from one pairing to the other.
 */
#ifndef ROTARY_ORACLE_PERMUTE_WEIGHTS_H
#define ROTARY_ORACLE_PERMUTE_WEIGHTS_H

#include "oracle/projections.h"

#include <jansson.h>

struct permute_config {
    struct rotation_request rotation;
    const char *input, *output; /* both .npy or both .safetensors */
    rotary_pairing to;          /* the input has the other one */
    enum fused fused;
    const char *const *tensors; /* patterns of names, NULL-terminated; none: the usual ones */
};

/* Reads, permutes and writes. Appends to the array `names` the names of the tensors that moved. */
ROTARY_CHECKED rotary_status permute_weights(const struct permute_config *config, json_t *names,
                                             rotary_error *error);

#endif
