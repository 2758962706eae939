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

/* Multiplications and additions of a training step on a batch. Matrices: 6 per parameter and token (2
 * forward, 4 backward). Attention: 2 matmuls forward and 5 backward for each pair of a query and a key that
 * it attends to; the decoder's is causal. Of an encoder the output projection is that of tokens with a class.
 */
double operations_training(const struct transformer_config *model, const struct batch *batch);

#endif
