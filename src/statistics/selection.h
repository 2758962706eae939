/* SPDX-License-Identifier: Apache-2.0
 *
 * Hoare's selection ("Algorithm 65: Find", Communications of the ACM 1961).
 */
#ifndef ROTARY_STATISTICS_SELECTION_H
#define ROTARY_STATISTICS_SELECTION_H

/* Element `rank` of the values in descending order, 0 being the largest; reorders them. None is NaN. */
double selection_largest(double *values, int count, int rank);

#endif
