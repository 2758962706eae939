/* SPDX-License-Identifier: Apache-2.0 */
#include "score/position_losses.h"

#include <math.h>

int position_bins(int64_t length)
{
    return length < POSITION_BINS ? (int)length : POSITION_BINS;
}

int position_bin(int64_t length, int64_t position)
{
    return (int)(position * position_bins(length) / length);
}

int64_t position_begin(int64_t length, int bin)
{
    const int bins = position_bins(length);
    return (bin * length + bins - 1) / bins;
}

void position_losses_add(struct position_losses *losses, int64_t position, double loss)
{
    struct position_bin *bin = &losses->bins[position_bin(losses->length, position)];
    bin->total += loss;
    bin->counted++;
}

double position_loss(const struct position_losses *losses, int bin)
{
    const struct position_bin *of = &losses->bins[bin];
    return of->counted > 0 ? of->total / (double)of->counted : (double)NAN;
}
