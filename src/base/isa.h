/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of instruction sets, which is not that of their values: those are never given another meaning.
 */
#ifndef ROTARY_BASE_ISA_H
#define ROTARY_BASE_ISA_H

#include <rotary/types.h>

enum { ROTARY_ISAS = ROTARY_ISA_AVX512BF16 + 1 };

/* All of them; what can run one can run those before it that belong to its architecture. */
extern const rotary_isa rotary_isa_order[ROTARY_ISAS];

#endif
