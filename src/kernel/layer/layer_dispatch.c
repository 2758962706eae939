/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/layer/layer_kernels.h"

#include "base/isa.h"
#include "kernel/variants.h"

#define DECLARE(isa, variant) extern const struct layer_kernels layer_kernels_##variant;
#define ENTRY(isa, variant)   [ROTARY_ISA_##isa] = &layer_kernels_##variant,

ROTARY_VARIANTS(DECLARE)

static const struct layer_kernels *const tables[ROTARY_ISAS] = {ROTARY_VARIANTS(ENTRY)};

const struct layer_kernels *layer_kernels_for(rotary_isa isa)
{
    return tables[isa] ? tables[isa] : tables[ROTARY_ISA_SCALAR];
}
