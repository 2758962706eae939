/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients of a model beside those of tests/golden/encoder_models.py, each by one number.
 */
#ifndef GOLDEN_GRADIENTS_H
#define GOLDEN_GRADIENTS_H

#include "backend/parameters.h"

/* The dot product of a gradient with cos(0.9 i + 0.5). */
struct golden_probe {
    int name; /* its index */
    double probe;
};

/* The Euclidean norm. */
double golden_norm(const float *values, int64_t count);
/* Compares the gradient of a row of the table with a probe. `gradients` has all, as parameter_copy returns
 * them; the bound is relative to the norm. */
void golden_compare(const float *gradients, const struct parameters *parameters, int row, double wanted,
                    double bound);

#endif
