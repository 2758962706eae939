/* SPDX-License-Identifier: Apache-2.0
 *
 * Instruction sets: which a caller means, and their order, which is not that of their values, since those are
 * never given another meaning.
 */
#ifndef ROTARY_BASE_ISA_H
#define ROTARY_BASE_ISA_H

#include <rotary/types.h>

enum { ROTARY_ISAS = ROTARY_ISA_AVX512BF16 + 1 };

/* All of them; what can run one can run those before it that belong to its architecture. */
extern const rotary_isa rotary_isa_order[ROTARY_ISAS];

/* Makes *isa the set that it means here; ROTARY_UNSUPPORTED if this machine cannot run it. */
ROTARY_CHECKED rotary_status rotary_isa_resolve(rotary_isa *isa, rotary_error *error);

#endif
