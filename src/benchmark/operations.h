/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of a model, counted.
 */
#ifndef ROTARY_BENCHMARK_OPERATIONS_H
#define ROTARY_BENCHMARK_OPERATIONS_H

#include "model/decoder.h"

/* Parameters of all matrices that every token is multiplied with: 2 operations each, forward. */
double operations_matmul_parameters(const struct decoder_config *model);

/* Operations of all layers' attention for one query that meets `keys` keys, forward: scores and sums. */
double operations_attention(const struct decoder_config *model, double keys);

#endif
