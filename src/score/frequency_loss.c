/* SPDX-License-Identifier: Apache-2.0 */
#include "score/frequency_loss.h"

#include <math.h>

double frequency_loss(const int64_t *counts, int64_t classes)
{
    int64_t targets = 0;
    double sum = 0;
    for (int64_t i = 0; i < classes; i++)
        targets += counts[i];
    /* Without the target itself its class is there counts[i] - 1 times, plus one. */
    for (int64_t i = 0; i < classes; i++)
        if (counts[i] > 0)
            sum -= (double)counts[i] * log((double)counts[i] / (double)(targets - 1 + classes));
    return targets > 0 ? sum / (double)targets : (double)NAN;
}
