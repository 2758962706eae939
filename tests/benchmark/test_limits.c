/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes over memory read or write every byte of their range and no other, on every instruction set.
 */
#include "base/isa.h"
#include "benchmark/limits.h"
#include "support/check.h"
#include "support/guard.h"

#include <stdlib.h>
#include <string.h>

/* Complete blocks and a partial one; one thread and three. */
static void test_pass(rotary_isa isa, int64_t bytes, int threads)
{
    check_about("%s, %lld bytes, %d threads", rotary_isa_name(isa), (long long)bytes, threads);
    int64_t padded = (bytes + MEMORY_LIMIT_UNIT - 1) / MEMORY_LIMIT_UNIT * MEMORY_LIMIT_UNIT;
    struct guarded guarded = guarded_create((size_t)padded, true);
    uint32_t *words = guarded.data, wanted = 0;
    for (int64_t i = 0; i < padded / 4; i++) {
        words[i] = 2654435761u * (uint32_t)(i + 1);
        wanted ^= words[i];
    }
    struct memory_limit limit = {
        .isa = isa, .threads = threads, .dtype = ROTARY_F32, .data = words, .bytes = bytes};
    rotary_error error;
    CHECK(memory_limit_read(&limit, &error) == ROTARY_OK);
    CHECK_INT(limit.words, wanted);
    for (int64_t i = 0; i < padded / 4; i++)
        ((float *)guarded.data)[i] = check_random(3, (uint64_t)i, 4);
    void *before = malloc((size_t)padded);
    memcpy(before, guarded.data, (size_t)padded);
    CHECK(memory_limit_scale(&limit, &error) == ROTARY_OK);
    CHECK_INT(memcmp(before, guarded.data, (size_t)padded), 0); /* by one */
    free(before);
    guarded_destroy(&guarded);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++) {
        if (!rotary_isa_available((rotary_isa)isa))
            continue;
        for (int threads = 1; threads < 4; threads += 2) {
            test_pass((rotary_isa)isa, 1, threads);
            test_pass((rotary_isa)isa, 1 << 16, threads);
            test_pass((rotary_isa)isa, (3 << 16) + 1000, threads);
        }
    }
    return check_report();
}
