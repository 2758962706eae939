/* SPDX-License-Identifier: Apache-2.0 */
#include "study/power.h"

#include "study/statistics.h"
#include "study/student.h"

#include <math.h>

/* The probability that a standard normal number is below x. */
static double normal_below(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* t = (z + noncentrality) / s, where s² is a χ² variable over its degrees of freedom. The density of s is in
 * proportion to s^(freedom - 1) exp(-freedom s² / 2); its maximum is near 1, and it is integrated 12 standard
 * deviations to either side, by Simpson's rule. Its constant cancels: the same sum is made of the density
 * alone. */
double power_of(double effect, int pairs, double alpha)
{
    enum { STEPS = 4000 };
    int freedom = pairs - 1;
    double t = student_quantile(1 - alpha, freedom), noncentrality = effect * sqrt(pairs),
           spread = 12 / sqrt(2.0 * freedom), low = fmax(0, 1 - spread), high = 1 + spread, found = 0,
           total = 0;
    for (int i = 0; i <= STEPS; i++) {
        double s = low + (high - low) * i / STEPS, weight = i % 2 ? 4 : i == 0 || i == STEPS ? 1 : 2;
        weight *= exp((freedom - 1) * log(s > 0 || freedom > 1 ? s : 1) - freedom * (s * s - 1) / 2);
        total += weight;
        found += weight * (normal_below(noncentrality - t * s) + normal_below(-noncentrality - t * s));
    }
    return found / total;
}

int power_pairs(double effect, double power, double alpha)
{
    int fewer = ENOUGH_PAIRS - 1, pairs = ENOUGH_PAIRS;
    while (pairs < POWER_MAX_PAIRS && !(power_of(effect, pairs, alpha) >= power)) {
        fewer = pairs;
        pairs = pairs < POWER_MAX_PAIRS / 2 ? 2 * pairs : POWER_MAX_PAIRS;
    }
    while (pairs - fewer > 1) {
        int middle = fewer + (pairs - fewer) / 2;
        *(power_of(effect, middle, alpha) >= power ? &pairs : &fewer) = middle;
    }
    return pairs;
}

double power_effect(int pairs, double power, double alpha)
{
    double low = 0, high = 1;
    while (power_of(high, pairs, alpha) < power)
        high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(power_of(middle, pairs, alpha) < power ? &low : &high) = middle;
    }
    return high;
}
