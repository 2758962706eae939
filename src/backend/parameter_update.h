/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer's passes over the flat arrays of the parameter table.
 */
#ifndef ROTARY_BACKEND_PARAMETER_UPDATE_H
#define ROTARY_BACKEND_PARAMETER_UPDATE_H

#include "backend/backend.h"
#include "backend/parameters.h"

/* Sum of squares of all gradients, in double, in an order that does not depend on the number of threads. */
double update_gradient_square(const struct backend *backend, const struct parameters *parameters);

/* Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), one pass:
 *     g = gradient_scale * gradient [+ weight_decay * value, if not decoupled]
 *     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *     value -= learning_rate * (m / correction1) / (sqrt(v / correction2) + epsilon)
 *              [+ learning_rate * weight_decay * value, if decoupled]
 * Weight decay applies to rows with `decay` only. The same pass sets the gradients to zero for the next step.
 */
struct adam {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    bool decoupled;
    float gradient_scale;           /* from gradient clipping */
    float correction1, correction2; /* bias correction: 1 - beta^t */
};
void update_adam(const struct backend *backend, struct parameters *parameters, const struct adam *adam);

#endif
