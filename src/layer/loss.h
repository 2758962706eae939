/* SPDX-License-Identifier: Apache-2.0
 *
 * The output projection fused with softmax cross-entropy: logits exist for a block of rows at a time only.
 */
#ifndef ROTARY_LAYER_LOSS_H
#define ROTARY_LAYER_LOSS_H

#include "layer/linear.h"

enum { LOSS_IGNORED = -1 }; /* a target that does not count */

struct loss;

struct loss_config {
    int64_t rows; /* the most in one call */
    float label_smoothing;
    bool training;
};

/* Bytes that loss_create takes for `classes` outputs. */
size_t loss_bytes(const struct compute *compute, int64_t classes, const struct loss_config *config);
/* `output` (hidden width -> vocabulary) is borrowed. */
ROTARY_CHECKED rotary_status loss_create(struct loss **loss, const struct compute *compute,
                                         struct linear *output, const struct loss_config *config,
                                         rotary_error *error);
void loss_destroy(struct loss *loss);

struct loss_sums {
    double total;    /* of -log p(target) in nats, label smoothing left out */
    int64_t counted; /* targets that counted */
    int64_t correct; /* of those, where the target's logit was the largest */
};

struct loss_call {
    struct matrix hidden;   /* [rows, width], storage type */
    const int32_t *targets; /* [rows]; LOSS_IGNORED rows add nothing */
    float gradient_scale;   /* of the summed loss: 1 / (targets counted in the whole step) */
    struct matrix d_hidden; /* storage type, overwritten; data NULL: evaluate only */
};
/* Accumulates the output projection's gradients when d_hidden is given. */
ROTARY_CHECKED rotary_status loss_run(struct loss *loss, struct parameters *parameters,
                                      const struct loss_call *call, struct loss_sums *sums,
                                      rotary_error *error);

#endif
