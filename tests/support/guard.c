/* SPDX-License-Identifier: Apache-2.0 */
#include "support/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded guarded_create(size_t bytes, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (bytes + page - 1) / page * page, mapped = inner + 2 * page;
    char *mapping = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED || (inner && mprotect(mapping + page, inner, PROT_READ | PROT_WRITE))) {
        printf("no guarded memory for %zu bytes\n", bytes);
        exit(1);
    }
    char *data = mapping + page + (at_end ? inner - bytes : 0);
    return (struct guarded){.data = data, .mapping = mapping, .mapped = mapped};
}

void guarded_destroy(struct guarded *guarded)
{
    munmap(guarded->mapping, guarded->mapped);
    *guarded = (struct guarded){0};
}
