/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer: the norm of the gradients, clipping to max_grad_norm, and a step of Adam or AdamW.
 */
#ifndef ROTARY_TRAIN_OPTIMIZER_H
#define ROTARY_TRAIN_OPTIMIZER_H

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

/* Step `step`, counted from 1: clips the gradients, updates the parameters and zeroes the gradients, unless
 * the loss or the norm is not finite: struct backend_update (backend/operation_calls.h).
 * parameters_read_statistics tells. */
ROTARY_CHECKED rotary_status optimizer_step(const struct optimizer *optimizer, struct parameters *parameters,
                                            int64_t step, double learning_rate, rotary_error *error);

#endif
