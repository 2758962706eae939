/* SPDX-License-Identifier: Apache-2.0
 *
 * The projections of a model that low-rank adaptation (train/weights/lora.h) may adapt. Where the parameter
 * table has several in one matrix, one below another, each is adapted by matrices of its own.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_LORA_TARGETS_H
#define ROTARY_TRAIN_WEIGHTS_LORA_TARGETS_H

#include "model/transformer.h"

/* y = W x, with W [outputs, inputs]. */
struct lora_projection {
    const char
        *matrix;      /* "attention.query_key_value": the end of the names of its parameters, but ".weight" */
    const char *name; /* "query" */
    int64_t first;    /* of the matrix's rows */
    int64_t outputs, inputs;
    int64_t layers; /* that have it */
};
enum { LORA_MAX_PROJECTIONS = 12 };

/* Those that `targets` names, the setting lora_targets, and a model that is checked has; returns their
 * number. */
int lora_projections(const struct transformer_config *model, const char *targets,
                     struct lora_projection projections[LORA_MAX_PROJECTIONS]);

/* ROTARY_INVALID_ARGUMENT for a target that is none or that the model, which is checked, does not have, and
 * for a rank above the sides of a target. */
ROTARY_CHECKED rotary_status lora_check(const struct transformer_config *model, int64_t rank,
                                        const char *targets, rotary_error *error);

/* Bytes of an adaptation: values, gradients and moments of A and B, and of the targets gradients and frozen
 * values. Without those of parameters that `init` does not give. Rank 0: none. */
double lora_bytes(const struct transformer_config *model, int64_t rank, const char *targets);

#endif
