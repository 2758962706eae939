/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct reference_region {
    char *data;
    size_t bytes, mapped;
    struct reference_region *next;
};

static void protect(const struct reference_region *region, int protection)
{
    if (mprotect(region->data, region->mapped, protection) != 0) {
        perror("reference backend: mprotect");
        abort();
    }
}

void *reference_memory_allocate(struct reference_memory *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    struct reference_region *region = malloc(sizeof *region);
    size_t mapped = (bytes + page) / page * page; /* never 0 */
    void *data = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!region || data == MAP_FAILED) {
        if (data != MAP_FAILED)
            munmap(data, mapped);
        free(region);
        return NULL;
    }
    *region = (struct reference_region){data, bytes, mapped, memory->regions};
    memory->regions = region;
    if (memory->open)
        protect(region, PROT_READ | PROT_WRITE);
    return data;
}

void reference_memory_release(struct reference_memory *memory, void *handle)
{
    struct reference_region **link = &memory->regions;
    if (!handle)
        return;
    while (*link && (*link)->data != handle)
        link = &(*link)->next;
    if (!*link) {
        fprintf(stderr, "reference backend: %p is released, but was not allocated\n", handle);
        abort();
    }
    struct reference_region *region = *link;
    *link = region->next;
    munmap(region->data, region->mapped);
    free(region);
}

static void protect_all(const struct reference_memory *memory, int protection)
{
    for (const struct reference_region *region = memory->regions; region; region = region->next)
        protect(region, protection);
}

void reference_memory_open(struct reference_memory *memory)
{
    if (memory->open++ == 0)
        protect_all(memory, PROT_READ | PROT_WRITE);
}

void reference_memory_close(struct reference_memory *memory)
{
    if (--memory->open == 0)
        protect_all(memory, PROT_NONE);
}

/* The region that has `bytes` bytes at `handle`, or NULL. */
static const struct reference_region *region_of(const struct reference_memory *memory, const void *handle,
                                                size_t bytes)
{
    const char *first = handle;
    for (const struct reference_region *region = memory->regions; region; region = region->next)
        if (first >= region->data && first <= region->data + region->bytes &&
            bytes <= (size_t)(region->data + region->bytes - first))
            return region;
    return NULL;
}

void reference_memory_check(const struct reference_memory *memory, const void *handle, size_t bytes,
                            const char *what)
{
    if (!handle || region_of(memory, handle, bytes))
        return;
    fprintf(stderr, "reference backend: %zu bytes at %p, the %s, are not in the memory of the backend\n",
            bytes, handle, what);
    abort();
}

void reference_memory_check_host(const struct reference_memory *memory, const void *host, const char *what)
{
    if (!host || !region_of(memory, host, 1))
        return;
    fprintf(stderr, "reference backend: %p, the %s, is in the memory of the backend: wanted the host's\n",
            host, what);
    abort();
}

void reference_memory_check_empty(const struct reference_memory *memory)
{
    if (!memory->regions)
        return;
    fprintf(stderr, "reference backend: %zu bytes at %p were not released\n", memory->regions->bytes,
            (void *)memory->regions->data);
    abort();
}
