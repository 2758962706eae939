/* SPDX-License-Identifier: Apache-2.0 */
#include "study/holm.h"

#include <math.h>

/* Whether comparison i comes before j: by p value, NaN last, equal ones in their order. */
static bool before(const double *p, int i, int j)
{
    if (isnan(p[i]) || isnan(p[j]))
        return isnan(p[i]) && isnan(p[j]) ? i < j : isnan(p[j]);
    return p[i] < p[j] || (p[i] == p[j] && i < j);
}

static int comparison_of_rank(const double *p, int count, int rank)
{
    for (int i = 0; i < count; i++) {
        int smaller = 0;
        for (int j = 0; j < count; j++)
            smaller += before(p, j, i);
        if (smaller == rank)
            return i;
    }
    return -1;
}

void holm_correct(struct holm *results, const double *p, int count, double alpha)
{
    double adjusted = 0, threshold = 0;
    bool rejecting = true;
    for (int rank = 0; rank < count; rank++) {
        int i = comparison_of_rank(p, count, rank), left = count - rank;
        if (rejecting) {
            threshold = alpha / left;
            rejecting = p[i] <= threshold;
        }
        adjusted = fmin(1, fmax(adjusted, left * p[i]));
        results[i] = (struct holm){.adjusted_p = isnan(p[i]) ? (double)NAN : adjusted,
                                   .level = 1 - threshold,
                                   .rejected = rejecting};
    }
}
