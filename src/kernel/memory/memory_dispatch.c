/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/memory/memory_kernels.h"

#include "base/isa.h"
#include "kernel/variants.h"

#define DECLARE(isa, variant) extern const struct memory_kernels memory_kernels_##variant;
#define ENTRY(isa, variant)   [ROTARY_ISA_##isa] = &memory_kernels_##variant,

ROTARY_VARIANTS(DECLARE)

static const struct memory_kernels *const tables[ROTARY_ISAS] = {ROTARY_VARIANTS(ENTRY)};

const struct memory_kernels *memory_kernels_for(rotary_isa isa)
{
    return tables[isa] ? tables[isa] : tables[ROTARY_ISA_SCALAR];
}
