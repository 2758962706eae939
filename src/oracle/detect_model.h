/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pairing the projections of a model were trained in, layer by layer and all together.
 */
#ifndef ROTARY_ORACLE_DETECT_MODEL_H
#define ROTARY_ORACLE_DETECT_MODEL_H

#include "oracle/pairing_detection.h"
#include "oracle/projections.h"

struct detect_config {
    struct rotation_request rotation;
    const char *input; /* .safetensors */
    enum fused fused;
    const char *const *tensors; /* patterns of names, NULL-terminated; none: the usual ones */
};

struct detected {
    const char *name; /* of the query or the fused projection; of all together, the file */
    struct pairing_evidence evidence;
    struct pairing_finding finding;
};

struct detect_result {
    struct safetensors *file; /* names are borrowed from it */
    int64_t layer_count;
    struct detected *layers; /* in the order of the file */
    struct detected all;
};

/* detect_free releases what a success took. */
ROTARY_CHECKED rotary_status detect_model(const struct detect_config *config, struct detect_result *result,
                                          rotary_error *error);
void detect_free(struct detect_result *result);

#endif
