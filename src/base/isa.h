/* SPDX-License-Identifier: Apache-2.0
 *
 * Instruction sets: resolving the one that a caller chose, and their order. (Values of rotary_isa are
 * part of the ABI, so new ones do not follow the order.)
 */
#ifndef ROTARY_BASE_ISA_H
#define ROTARY_BASE_ISA_H

#include <rotary/types.h>

enum { ROTARY_ISAS = ROTARY_ISA_AVX512BF16 + 1 };

/* From least to most capable. A machine that can run one can run those before it of its architecture. */
extern const rotary_isa rotary_isa_order[ROTARY_ISAS];

/* Replaces ROTARY_ISA_AUTO by the best set of this machine; ROTARY_UNSUPPORTED if it cannot run *isa. */
ROTARY_CHECKED rotary_status rotary_isa_resolve(rotary_isa *isa, rotary_error *error);

/* Writes the processor's vendor, as CPUID has it: "GenuineIntel", "AuthenticAMD". "" where there is no CPUID.
 */
enum { ROTARY_VENDOR_BYTES = 13 };
void rotary_processor_vendor(char vendor[ROTARY_VENDOR_BYTES]);

#endif
