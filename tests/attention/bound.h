/* SPDX-License-Identifier: Apache-2.0
 *
 * Error bounds of each element of attention's results, derived from the arithmetic that docs/explanation/numerics.md
 * lists and from the inputs. No constant was fitted to a kernel.
 */
#ifndef TESTS_ATTENTION_BOUND_H
#define TESTS_ATTENTION_BOUND_H

#include "attention/attention_reference.h"

/* Computes in `bound`, element by element, the largest error of output and log_sum_exp and, with `backward`,
 * of the gradients. Reads query, key and value of `given`, and output_gradient for the gradients. */
void bound_run(const struct reference_case *c, const struct reference_tensors *given,
               struct reference_tensors *bound, bool backward);

#endif
