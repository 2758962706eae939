/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of positions: they follow one another, have about equally many positions, and lose no token.
 */
#include "score/position_losses.h"
#include "support/check.h"

#include <math.h>

static void test_bins(int64_t length)
{
    const int bins = position_bins(length);
    check_about("sequences of %lld", (long long)length);
    CHECK_INT(bins, length < POSITION_BINS ? length : POSITION_BINS);
    CHECK_INT(position_begin(length, 0), 0);
    CHECK_INT(position_begin(length, bins), length);
    for (int bin = 0; bin < bins; bin++) {
        const int64_t begin = position_begin(length, bin), end = position_begin(length, bin + 1);
        CHECK(end - begin >= length / bins && end - begin <= length / bins + 1);
        for (int64_t position = begin; position < end; position++)
            CHECK_INT(position_bin(length, position), bin);
    }
    check_about("%s", "");
}

static void test_losses(void)
{
    struct position_losses losses = {.length = 100};
    double total = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < 60; i++) /* positions 0 ... 59 */
        position_losses_add(&losses, i, 1.0 + (double)i);
    for (int bin = 0; bin < POSITION_BINS; bin++) {
        const int64_t begin = position_begin(100, bin), end = position_begin(100, bin + 1);
        const double loss = position_loss(&losses, bin);
        if (end <= 60)
            CHECK_NEAR(loss, 1.0 + 0.5 * (double)(begin + end - 1), 1e-12);
        else if (begin >= 60)
            CHECK(isnan(loss));
        total += losses.bins[bin].total;
        counted += losses.bins[bin].counted;
    }
    CHECK_INT(counted, 60);
    CHECK_NEAR(total, 60 * 61 / 2.0, 1e-9);
}

int main(void)
{
    static const int64_t lengths[] = {1, 16, 31, 32, 33, 96, 100, 1000, 1 << 20};
    for (int i = 0; i < 9; i++)
        test_bins(lengths[i]);
    test_losses();
    return check_report();
}
