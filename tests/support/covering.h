/* SPDX-License-Identifier: Apache-2.0
 *
 * Covering arrays of strength two (Cohen et al. 1997): rows of levels, one of each factor, such that any two
 * levels of two factors occur together in a row. They are far fewer than all combinations.
 */
#ifndef TESTS_SUPPORT_COVERING_H
#define TESTS_SUPPORT_COVERING_H

enum { COVERING_MAX_FACTORS = 12, COVERING_MAX_LEVELS = 12, COVERING_MAX_ROWS = 200 };

struct covering {
    int factors, levels[COVERING_MAX_FACTORS]; /* given */
    int rows, row[COVERING_MAX_ROWS][COVERING_MAX_FACTORS];
};

/* Makes the rows, greedily: always the same ones for the same levels. */
void covering_make(struct covering *covering);
/* How many pairs of levels are in no row. */
int covering_missing(const struct covering *covering);

#endif
