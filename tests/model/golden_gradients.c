/* SPDX-License-Identifier: Apache-2.0 */
#include "model/golden_gradients.h"

#include "support/check.h"

#include <math.h>

double golden_norm(const float *values, int64_t count)
{
    double square = 0.0;
    for (int64_t i = 0; i < count; i++)
        square += (double)values[i] * (double)values[i];
    return sqrt(square);
}

/* A small gradient is what is left of larger ones, and has roundings of their size: where keys are not
 * rotated, a bias of their norm adds the same to all scores of a query, and its gradient is nothing but
 * roundings. */
void golden_compare(const float *gradients, const struct parameters *parameters, int row, double wanted,
                    double bound)
{
    const float *gradient = gradients + parameters->rows[row].offset;
    int64_t count = parameter_elements(&parameters->rows[row]);
    double probe = 0.0, scale = golden_norm(gradient, count) + fabs(wanted);
    for (int64_t i = 0; i < count; i++)
        probe += (double)gradient[i] * cos(0.9 * (double)i + 0.5);
    CHECK_NEAR(probe, wanted, bound * (scale + 0.01 * golden_norm(gradients, parameters->elements)));
}
