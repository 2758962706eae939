/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/student.h"

#include <math.h>
#include <stdbool.h>

/* The probability that Student's t lies within ±tan(angle) √freedom. */
static double within(double angle, int freedom)
{
    bool odd = freedom % 2;
    double cosine = cos(angle), term = odd ? cosine : 1, sum = 0;
    for (int i = odd ? 3 : 2; i <= freedom; i += 2) {
        sum += term;
        term *= cosine * cosine * (i - 1) / i;
    }
    return odd ? (angle + sin(angle) * sum) * M_2_PI : sin(angle) * sum;
}

double student_p(double t, int freedom)
{
    double p = 1 - within(atan(fabs(t) / sqrt(freedom)), freedom);
    return p < 0 ? 0 : p; /* by rounding */
}

double student_quantile(double level, int freedom)
{
    double low = 0, high = M_PI_2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (within(middle, freedom) < level)
            low = middle;
        else
            high = middle;
    }
    return tan(low) * sqrt(freedom);
}
