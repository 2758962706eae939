/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANGE_GIGABYTES = 16 }; /* of addresses; memory is taken by what is written */

struct reference_region {
    char *data;
    size_t bytes, mapped;
    struct reference_region *next;
};

static size_t range_bytes(void)
{
    return (size_t)RANGE_GIGABYTES << 30;
}

static void protect(const struct reference_memory *memory, int protection)
{
    if (memory->used > 0 && mprotect(memory->range, memory->used, protection) != 0) {
        perror("reference backend: mprotect");
        abort();
    }
}

static bool reserve(struct reference_memory *memory)
{
    if (!memory->range) {
        void *range =
            mmap(NULL, range_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memory->range = range == MAP_FAILED ? NULL : range;
    }
    return memory->range != NULL;
}

/* The link after which `mapped` bytes are free, at *data; NULL if they are nowhere. */
static struct reference_region **find_gap(struct reference_memory *memory, size_t mapped, char **data)
{
    struct reference_region **link = &memory->regions;
    *data = memory->range;
    while (*link && (size_t)((*link)->data - *data) < mapped) {
        *data = (*link)->data + (*link)->mapped;
        link = &(*link)->next;
    }
    const char *end = *link ? (*link)->data : memory->range + range_bytes();
    return (size_t)(end - *data) < mapped ? NULL : link;
}

void *reference_memory_allocate(struct reference_memory *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > range_bytes() || !reserve(memory))
        return NULL;
    const size_t mapped = (bytes + page) / page * page; /* never 0 */
    char *data;
    struct reference_region **link = find_gap(memory, mapped, &data);
    struct reference_region *region = link ? malloc(sizeof *region) : NULL;
    if (!region)
        return NULL;
    *region = (struct reference_region){data, bytes, mapped, *link};
    *link = region;
    const size_t end = (size_t)(data - memory->range) + mapped;
    if (end > memory->used) {
        memory->used = end;
        if (memory->open)
            protect(memory, PROT_READ | PROT_WRITE);
    }
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
    madvise(region->data, region->mapped, MADV_DONTNEED); /* it reads as zeros when it is allocated again */
    free(region);
}

void reference_memory_open(struct reference_memory *memory)
{
    if (memory->open++ == 0)
        protect(memory, PROT_READ | PROT_WRITE);
}

void reference_memory_close(struct reference_memory *memory)
{
    if (--memory->open == 0)
        protect(memory, PROT_NONE);
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

void reference_memory_destroy(struct reference_memory *memory)
{
    if (memory->regions) {
        fprintf(stderr, "reference backend: %zu bytes at %p were not released\n", memory->regions->bytes,
                (void *)memory->regions->data);
        abort();
    }
    if (memory->range)
        munmap(memory->range, range_bytes());
}
