/* SPDX-License-Identifier: Apache-2.0
 *
 * How far each element of attention's results may be from the formula's, derived from the arithmetic that
 * docs/numerics.md lists and from the numbers themselves; nothing in it was fitted to a kernel.
 */
#ifndef TESTS_ATTENTION_BOUND_H
#define TESTS_ATTENTION_BOUND_H

#include "attention/attention_reference.h"

/* From query, key, value, and output_gradient for the gradients, of `given` makes in `bound` the largest
 * error of output and log_sum_exp and, with `backward`, of the gradients, element by element. */
void bound_run(const struct reference_case *c, const struct reference_tensors *given,
               struct reference_tensors *bound, bool backward);

#endif
