/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of calls with caches, for whoever computes them. Arrays that are the host's are read; of tensors
 * and biases only sizes are. `bytes` are those of the workspace that the caller needs. Views of values are as
 * rotary_attention_share_keys leaves them.
 */
#ifndef ROTARY_ATTENTION_CACHE_CHECKS_H
#define ROTARY_ATTENTION_CACHE_CHECKS_H

#include "attention/attention_plan.h"

/* A decoding step up to where it attends. */
rotary_attention_decode_call rotary_attention_decode_of_append(const rotary_attention_append_call *append);

/* All but the arrays of a piecewise bias (rotary_attention_check_piecewise_bias). */
rotary_status rotary_attention_check_decode(const rotary_attention *attention,
                                            const rotary_attention_decode_call *call, size_t bytes,
                                            rotary_error *error);
rotary_status rotary_attention_check_append(const rotary_attention *attention,
                                            const rotary_attention_decode_call *call, size_t bytes,
                                            rotary_error *error);
rotary_status rotary_attention_check_reorder(const rotary_attention *attention,
                                             const rotary_attention_reorder_call *call, size_t bytes,
                                             rotary_error *error);
rotary_status rotary_attention_check_shift(const rotary_attention *attention,
                                           const rotary_attention_shift_call *call, rotary_error *error);

#endif
