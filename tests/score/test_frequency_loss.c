/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of a model that knows frequencies alone, beside the same computed target by target.
 */
#include "support/check.h"

#include "score/frequency_loss.h"

#include <math.h>

/* Each target is left out, and predicted from what is left. */
static double one_by_one(const int64_t *counts, int64_t classes)
{
    double sum = 0;
    int64_t targets = 0;
    for (int64_t class = 0; class < classes; class ++)
        for (int64_t i = 0; i < counts[class]; i++) {
            double others = 0, own = 0;
            for (int64_t j = 0; j < classes; j++) {
                const double left = (double)(counts[j] - (j == class)) + 1;
                others += left;
                own = j == class ? left : own;
            }
            sum -= log(own / others);
            targets++;
        }
    return sum / (double)targets;
}

int main(void)
{
    const int64_t some[] = {5, 0, 1, 17, 2}, one[] = {0, 9}, even[] = {1000, 1000, 1000, 1000},
                  none[] = {0, 0};
    CHECK_NEAR(frequency_loss(some, 5), one_by_one(some, 5), 1e-12);
    CHECK_NEAR(frequency_loss(one, 2), one_by_one(one, 2), 1e-12);
    CHECK_NEAR(frequency_loss(even, 4), log(4), 1e-3);
    CHECK(frequency_loss(even, 4) > log(4));
    CHECK(isnan(frequency_loss(none, 2)));
    return check_report();
}
