/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/rope/rope_kernels.h"

#include "base/isa.h"
#include "kernel/variants.h"

#define DECLARE(isa, variant) extern const struct rotary_rope_kernels rotary_rope_kernels_##variant;
#define ENTRY(isa, variant)   [ROTARY_ISA_##isa] = &rotary_rope_kernels_##variant,

ROTARY_VARIANTS(DECLARE)

static const struct rotary_rope_kernels *const tables[ROTARY_ISAS] = {ROTARY_VARIANTS(ENTRY)};

const struct rotary_rope_kernels *rotary_rope_kernels(rotary_isa isa)
{
    return tables[isa] ? tables[isa] : tables[ROTARY_ISA_SCALAR];
}
