/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/auto_precision.h"

#include <string.h>

bool bf16_is_faster(rotary_isa isa, const char *vendor)
{
    return isa == ROTARY_ISA_AMX || (isa == ROTARY_ISA_AVX512BF16 && strcmp(vendor, "AuthenticAMD") == 0);
}
