/* SPDX-License-Identifier: Apache-2.0
 *
 * Means of rows, and their gradients, of the cpu backend against the reference backend, on every instruction
 * set, in f32 and bf16.
 */
#include "backend/backend_pair.h"
#include "support/check.h"

/* Means of single rows, of many, and of rows that another mean does not follow at once. */
static void test_means(struct pair *pair)
{
    enum { ROWS = 150, MEANS = 5, WIDTH = 300 }; /* more columns than are summed at once */
    static const int64_t first[MEANS] = {0, 1, 40, 90, 149}, counts[MEANS] = {1, 38, 50, 3, 1};
    const struct tensor *in = pair_storage(pair, ROWS, WIDTH), *out = pair_storage(pair, MEANS, WIDTH),
                        *d_in = pair_storage(pair, ROWS, WIDTH), *d_out = pair_storage(pair, MEANS, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, mean_rows_forward,
            {.out = on(out, side), .in = on(in, side), .first = first, .counts = counts});
        RUN(pair, side, mean_rows_backward,
            {.d_in = on(d_in, side), .d_out = on(d_out, side), .first = first, .counts = counts});
    }
    pair_compare(pair, out, pair_bound(pair), "means of rows");
    pair_compare(pair, d_in, pair_bound(pair), "gradient of rows that have a mean");
    pair_clear(pair);
}

int main(void)
{
    pair_test_all(test_means);
    return check_report();
}
