/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout's mask by its definition, one random block for each weight.
 */
#ifndef TESTS_ATTENTION_DROPOUT_FACTORS_H
#define TESTS_ATTENTION_DROPOUT_FACTORS_H

#include "attention/attention_reference.h"

/* What dropout multiplies p(query, key) by (src/kernel/attention/dropout_term.c). */
double dropout_factor(const rotary_attention_dropout *dropout, int64_t sequence, int64_t head, int64_t query,
                      int64_t key);
/* Those of a case, [batch, heads, queries, keys]; the caller frees them. */
double *dropout_factors(const struct reference_case *c);

#endif
