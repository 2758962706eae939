/* SPDX-License-Identifier: Apache-2.0
 *
 * How a token is taken from the logits of one row.
 */
#ifndef ROTARY_MODEL_GENERATION_TOKEN_CHOICE_H
#define ROTARY_MODEL_GENERATION_TOKEN_CHOICE_H

#include <rotary/status.h>
#include <stdint.h>

/* ROTARY_INVALID_ARGUMENT unless the logits have a softmax: none is NaN or above all numbers, and one at least is
 * a number. Those of a model that diverged, or whose file is damaged, have none. */
ROTARY_CHECKED rotary_status token_check_logits(const float *logits, int64_t count, rotary_error *error);
/* The first of the largest logits; 0 if the first is NaN, which nothing is larger than. */
int32_t token_argmax(const float *logits, int64_t count);
/* Draws from softmax(logits / temperature) by its cumulative sum, in double; `uniform` is in [0, 1). */
int32_t token_sample(const float *logits, int64_t count, double temperature, double uniform);
/* log(sum exp(logits)), in double. */
double token_log_sum_exp(const float *logits, int64_t count);

#endif
