/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensor a step that diverged points to.
 */
#ifndef ROTARY_TRAIN_DIVERGENCE_H
#define ROTARY_TRAIN_DIVERGENCE_H

#include "backend/parameters.h"

enum { DIVERGENCE_BYTES = 200 };

/* Writes what a person should look at first, of the state that the step left:
 *     "layers.0.norm.weight has values that are not finite": the first such tensor;
 *     "the gradient of layers.1.up.weight is not finite": with has_loss, the loss being finite, the last such
 *     tensor, which is where the backward pass came to it first;
 *     "the largest weight is 3e+19, in layers.1.up.weight": else.
 * Empty where a backend cannot be read. */
void divergence_tensor(const struct parameters *parameters, bool has_loss, char text[DIVERGENCE_BYTES]);

#endif
