/* SPDX-License-Identifier: Apache-2.0
 *
 * FIRE (Li et al. 2024): a bias that a small network computes from the logarithm of the distance, relative to
 * that of the query's position or of a threshold.
 */
#include "oracle/position_formula.h"

#include <math.h>
#include <stdlib.h>

#define MEMBER(member) offsetof(struct formula_settings, member)

enum { C, MULTIPLIER, HIDDEN_WEIGHT, HIDDEN_BIAS, OUTPUT_WEIGHT, OUTPUT_BIAS };

static const struct setting settings[] = {
    {"fire_width", SETTING_INTEGER, MEMBER(fire_width), .min = 1, .max = 1 << 20},
    {"fire_length", SETTING_REAL, MEMBER(fire_length), .min = 1, .max = 1e9},
};

static int list(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS])
{
    int64_t width = formula->settings.fire_width;
    rows[C] = (struct formula_parameter){"fire.c", 1, {1}};
    rows[MULTIPLIER] = (struct formula_parameter){"fire.length_multiplier", 1, {1}};
    rows[HIDDEN_WEIGHT] = (struct formula_parameter){"fire.hidden.weight", 2, {width, 1}};
    rows[HIDDEN_BIAS] = (struct formula_parameter){"fire.hidden.bias", 1, {width}};
    rows[OUTPUT_WEIGHT] = (struct formula_parameter){"fire.output.weight", 2, {formula->heads, width}};
    rows[OUTPUT_BIAS] = (struct formula_parameter){"fire.output.bias", 1, {formula->heads}};
    return 6;
}

/* f(x) of x = psi(|m - n|) / psi(max(L, m)), psi(d) = ln(1 + |c| d), where the denominator is 1e-6 more, as
 * in the listing of the paper's appendix. f has one hidden layer of ReLU. */
static double pair_bias(const struct position_formula *formula, int64_t head, int64_t m, int64_t n)
{
    const double *const *parameters = formula->parameters;
    int64_t width = formula->settings.fire_width;
    double c = fabs(parameters[C][0]),
           length = fabs(parameters[MULTIPLIER][0]) * formula->settings.fire_length;
    double x = log1p(c * fabs((double)(m - n))) / (log1p(c * fmax(length, (double)m)) + 1e-6);
    double sum = parameters[OUTPUT_BIAS][head];
    for (int64_t unit = 0; unit < width; unit++) {
        double hidden = parameters[HIDDEN_WEIGHT][unit] * x + parameters[HIDDEN_BIAS][unit];
        sum += parameters[OUTPUT_WEIGHT][head * width + unit] * fmax(hidden, 0.0);
    }
    return sum;
}

const struct formula_encoding formula_fire = {
    .name = "fire", .settings = settings, .setting_count = 2, .list = list, .pair_bias = pair_bias};
