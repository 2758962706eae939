/* SPDX-License-Identifier: Apache-2.0
 *
 * From gradients to new parameters: the norm, clipping, and a step of Adam or AdamW.
 */
#ifndef ROTARY_TRAIN_OPTIMIZER_H
#define ROTARY_TRAIN_OPTIMIZER_H

#include "tensor/compute.h"
#include "tensor/parameters.h"

enum optimizer_kind {
    OPTIMIZER_ADAM,  /* Kingma and Ba 2015; weight decay, if any, is part of the gradient */
    OPTIMIZER_ADAMW, /* Loshchilov and Hutter 2019: weight decay beside the gradient */
};
extern const char *const optimizer_names[]; /* NULL-terminated, in the order of optimizer_kind */

struct optimizer {
    enum optimizer_kind kind;
    double beta1, beta2, epsilon, weight_decay;
    double max_grad_norm; /* largest norm of all gradients together; 0: as large as they come */
};

/* What all gradients are multiplied by so that their norm is at most `clip`: min(1, clip / (norm + 1e-6)), as
 * torch.nn.utils.clip_grad_norm_ has it; 1 when clip is 0. */
double optimizer_clip_scale(double norm, double max_grad_norm);

/* Step `step`, counted from 1: clips, moves the parameters, and leaves the gradients zero for the next step.
 * *norm is that of the gradients before clipping. When it is not finite nothing is changed and the result is
 * false. */
bool optimizer_step(const struct optimizer *optimizer, const struct compute *compute,
                    struct parameters *parameters, int64_t step, double learning_rate, double *norm);

#endif
