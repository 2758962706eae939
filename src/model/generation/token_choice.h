/* SPDX-License-Identifier: Apache-2.0
 *
 * How a token is taken from the logits of one row.
 */
#ifndef ROTARY_MODEL_GENERATION_TOKEN_CHOICE_H
#define ROTARY_MODEL_GENERATION_TOKEN_CHOICE_H

#include <stdint.h>

/* The first of the largest logits. */
int32_t token_argmax(const float *logits, int64_t count);
/* Draws from softmax(logits / temperature) by its cumulative sum, in double; `uniform` is in [0, 1). */
int32_t token_sample(const float *logits, int64_t count, double temperature, double uniform);
/* log(sum exp(logits)), in double. */
double token_log_sum_exp(const float *logits, int64_t count);

#endif
