/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload into a program: the allocation with the number FAILING_ALLOCATION fails, counted from
 * 0 when all libraries are ready. Without that variable it prints the number of allocations on stderr. For
 * glibc.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_long counted, failing = -1;
static atomic_bool ready;

static bool fails(void)
{
    if (!ready || counted++ != failing)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("FAILING_ALLOCATION");
    failing = which ? atol(which) : -1;
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    ready = false;
    if (failing < 0)
        fprintf(stderr, "%ld allocations\n", (long)counted);
}
