/* SPDX-License-Identifier: Apache-2.0
 *
 * FIRE (Li et al. 2024): a bias that a small network computes from the logarithm of the distance, relative to
 * that of the query's position or of a threshold.
 */
#include "oracle/position_formula.h"

#include <math.h>
#include <stdlib.h>

enum { C, THRESHOLD, HIDDEN_WEIGHT, HIDDEN_BIAS, OUTPUT_WEIGHT, OUTPUT_BIAS };

static int list(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS])
{
    rows[C] = (struct formula_parameter){"fire.c", 1, {1}};
    rows[THRESHOLD] = (struct formula_parameter){"fire.threshold", 1, {1}};
    rows[HIDDEN_WEIGHT] = (struct formula_parameter){"fire.hidden.weight", 2, {formula->width, 1}};
    rows[HIDDEN_BIAS] = (struct formula_parameter){"fire.hidden.bias", 1, {formula->width}};
    rows[OUTPUT_WEIGHT] =
        (struct formula_parameter){"fire.output.weight", 2, {formula->heads, formula->width}};
    rows[OUTPUT_BIAS] = (struct formula_parameter){"fire.output.bias", 1, {formula->heads}};
    return 6;
}

/* f(psi(|m - n|) / psi(max(L, m))), psi(x) = ln(1 + |c| x): equation 9 with one hidden layer of ReLU. */
static double pair_bias(const struct position_formula *formula, int64_t head, int64_t m, int64_t n)
{
    const double *const *parameters = formula->parameters;
    double c = fabs(parameters[C][0]), threshold = fabs(parameters[THRESHOLD][0]);
    double x = log1p(c * fabs((double)(m - n))) / log1p(c * fmax(threshold, (double)m));
    double sum = parameters[OUTPUT_BIAS][head];
    for (int64_t unit = 0; unit < formula->width; unit++) {
        double hidden = parameters[HIDDEN_WEIGHT][unit] * x + parameters[HIDDEN_BIAS][unit];
        sum += parameters[OUTPUT_WEIGHT][head * formula->width + unit] * fmax(hidden, 0.0);
    }
    return sum;
}

const struct formula_encoding formula_fire = {.name = "fire", .list = list, .pair_bias = pair_bias};
