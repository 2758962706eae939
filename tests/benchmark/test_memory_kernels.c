/* SPDX-License-Identifier: Apache-2.0
 *
 * Scaling and reading touch every byte of their array and no other, with every instruction set.
 */
#include "base/element.h"
#include "base/isa.h"
#include "kernel/memory/memory_kernels.h"
#include "support/check.h"
#include "support/guard.h"

#include <stdlib.h>
#include <string.h>

/* Twice a number is exact in every type. */
static void test_scale(rotary_isa isa, rotary_dtype dtype, int64_t count, bool at_end)
{
    check_about("%s, %s, %lld elements", rotary_isa_name(isa), rotary_dtype_name(dtype), (long long)count);
    size_t bytes = (size_t)count * rotary_dtype_size(dtype);
    struct guarded guarded = guarded_create(bytes, at_end);
    for (int64_t i = 0; i < count; i++)
        rotary_set_element(guarded.data, i, dtype, check_random(1, (uint64_t)i, 4));
    void *before = malloc(bytes);
    memcpy(before, guarded.data, bytes);
    memory_kernels_for(isa)->scale[dtype](guarded.data, count, 2.0f);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++)
        wrong += !(rotary_element(guarded.data, i, dtype) == 2.0f * rotary_element(before, i, dtype));
    CHECK_INT(wrong, 0);
    free(before);
    guarded_destroy(&guarded);
}

static void test_read(rotary_isa isa, int64_t count, bool at_end)
{
    check_about("%s, %lld words", rotary_isa_name(isa), (long long)count);
    struct guarded guarded = guarded_create((size_t)count * sizeof(uint32_t), at_end);
    uint32_t *words = guarded.data, wanted = 0;
    for (int64_t i = 0; i < count; i++) {
        words[i] = 2654435761u * (uint32_t)(i + 1);
        wanted ^= words[i];
    }
    CHECK_INT(memory_kernels_for(isa)->read(words, count), wanted);
    guarded_destroy(&guarded);
}

int main(void)
{
    static const int64_t counts[] = {MEMORY_STEP, 2 * MEMORY_STEP, 37 * MEMORY_STEP};
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++) {
        if (!rotary_isa_available((rotary_isa)isa))
            continue;
        for (int i = 0; i < 3; i++)
            for (int at_end = 0; at_end < 2; at_end++) {
                for (int dtype = 0; dtype < 3; dtype++)
                    test_scale((rotary_isa)isa, (rotary_dtype)dtype, counts[i], at_end);
                test_read((rotary_isa)isa, counts[i], at_end);
            }
    }
    return check_report();
}
