/* SPDX-License-Identifier: Apache-2.0
 *
 * Piecewise-linear biases for a reference_case, and the check of their gradients.
 */
#ifndef TESTS_ATTENTION_PIECEWISE_CASE_H
#define TESTS_ATTENTION_PIECEWISE_CASE_H

#include "attention/trial.h"

struct piecewise_shape {
    int64_t segments, distances, first, positions;
    double size;    /* of intercepts */
    int64_t length; /* scales are those of FIRE: equal up to this position, then falling */
};

/* Inputs are logarithms, knots partly equal and partly outside what inputs reach, and functions jump at them,
 * so that a segment taken for another shows. Its arrays are owned, gradients zero. */
rotary_attention_piecewise_bias piecewise_case_make(const struct reference_case *c,
                                                    const struct piecewise_shape *shape, uint64_t seed);
void piecewise_case_free(const rotary_attention_piecewise_bias *bias);
/* Checks the gradients that a backward pass added, by those of the scores in `results`, and sets them to zero
 * again. */
void piecewise_case_check(const struct reference_case *c, const struct trial_results *results);

#endif
