/* SPDX-License-Identifier: Apache-2.0 */
#include "score/proportion.h"

#include <math.h>

struct proportion_interval proportion_wilson(int64_t correct, int64_t count)
{
    const double z = 1.959963984540054; /* the normal distribution has 97.5% below it */
    if (count <= 0)
        return (struct proportion_interval){NAN, NAN};
    double n = (double)count, share = (double)correct / n, shrink = 1.0 + z * z / n;
    double centre = (share + z * z / (2.0 * n)) / shrink;
    double half = z / shrink * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
    /* Exact at the ends, where rounding would not be. */
    return (struct proportion_interval){correct == 0 ? 0.0 : centre - half,
                                        correct == count ? 1.0 : centre + half};
}
