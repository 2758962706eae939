/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu backend's memory for what an operation needs while it runs. It grows to the largest need, so that
 * no step allocates after the first.
 */
#include "backend/cpu.h"

rotary_status cpu_scratch(const struct backend *backend, void **memory, int64_t count, size_t size,
                          rotary_error *error)
{
    struct rotary_arena wanted = {0};
    struct cpu *cpu = cpu_of(backend);
    rotary_arena_push(&wanted, count, size);
    if (wanted.used > cpu->scratch.capacity) {
        rotary_status status = rotary_arena_allocate(&wanted, "the scratch memory of an operation", error);
        if (status != ROTARY_OK)
            return status;
        rotary_arena_free(&cpu->scratch);
        cpu->scratch = wanted;
    }
    *memory = cpu->scratch.memory;
    return ROTARY_OK;
}
