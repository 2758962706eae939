/* SPDX-License-Identifier: Apache-2.0 */
#include "support/allocations.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic int64_t counted;

int64_t allocations_counted(void)
{
    return counted;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    counted++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    counted++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    counted++;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    counted++;
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    counted++;
    return __real_posix_memalign(memory, alignment, size);
}
