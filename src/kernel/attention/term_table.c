/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of score terms of one instruction set.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/simd.h"

#define TERM(name, variant) &ROTARY_JOIN(rotary_attention_##name##_term, variant),

const struct rotary_attention_score_term *const ROTARY_KERNEL(rotary_attention_score_terms)[] = {
    ROTARY_ATTENTION_SCORE_TERM_LIST(TERM, ROTARY_VARIANT) NULL};
