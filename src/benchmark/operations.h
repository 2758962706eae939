/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of a model's arithmetic operations.
 */
#ifndef ROTARY_BENCHMARK_OPERATIONS_H
#define ROTARY_BENCHMARK_OPERATIONS_H

#include "model/transformer.h"

/* Number of parameters of all matrices that multiply every token: 2 operations each in the forward pass. */
double operations_matmul_parameters(const struct transformer_config *model);

/* Operations of all layers' attention for one query that attends to `keys` keys, in the forward pass: scores
 * and weighted sums of values. */
double operations_attention(const struct transformer_config *model, double keys);

#endif
