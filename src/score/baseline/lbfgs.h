/* SPDX-License-Identifier: Apache-2.0
 *
 * The minimum of a smooth convex function by L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited
 * storage", Mathematics of Computation 35, 1980), with a line search for the weak Wolfe conditions (Lewis and
 * Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical Programming 141, 2013).
 */
#ifndef ROTARY_SCORE_BASELINE_LBFGS_H
#define ROTARY_SCORE_BASELINE_LBFGS_H

#include <rotary/status.h>

struct lbfgs {
    int64_t dimension;
    /* Returns the function's value at `point` [dimension] and writes its gradient [dimension]. */
    double (*value)(const void *context, const double *point, double *gradient);
    const void *context;
    double tolerance;   /* ends once no element of the gradient is larger */
    int max_iterations; /* ends then, wherever it is */
};

/* Moves `point` [dimension] from where it begins to the minimum. *iterations: how many there were; as many as
 * the maximum, or fewer where rounding lets the value sink no further. A value that is not finite where the
 * search begins is ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status lbfgs_minimize(const struct lbfgs *search, double *point, int *iterations,
                                            rotary_error *error);

#endif
