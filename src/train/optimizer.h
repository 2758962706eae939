/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer: the norm of the gradients, clipping to max_grad_norm, and a step of Adam or AdamW.
 */
#ifndef ROTARY_TRAIN_OPTIMIZER_H
#define ROTARY_TRAIN_OPTIMIZER_H

#include "backend/backend.h"
#include "backend/parameters.h"

enum optimizer_kind {
    OPTIMIZER_ADAM,  /* Kingma and Ba 2015; weight decay is added to the gradient */
    OPTIMIZER_ADAMW, /* Loshchilov and Hutter 2019: decoupled weight decay */
};
extern const char *const optimizer_names[]; /* NULL-terminated, in the order of optimizer_kind */

struct optimizer {
    enum optimizer_kind kind;
    double beta1, beta2, epsilon, weight_decay;
    double max_grad_norm; /* maximum norm of all gradients together; 0: gradients are not clipped */
};

/* The factor by which gradients of norm `norm` are multiplied: min(1, max_grad_norm / (norm + 1e-6)), as in
 * torch.nn.utils.clip_grad_norm_; 1 if max_grad_norm is 0. */
double optimizer_clip_scale(double norm, double max_grad_norm);

/* Step `step`, counted from 1: clips the gradients, updates the parameters and zeroes the gradients. *norm is
 * the norm before clipping; if it is not finite, nothing is changed and the result is false. */
bool optimizer_step(const struct optimizer *optimizer, const struct backend *backend,
                    struct parameters *parameters, int64_t step, double learning_rate, double *norm);

#endif
