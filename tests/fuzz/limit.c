/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/limit.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

static size_t largest, total;
static bool paused;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static void count(size_t size)
{
    if (paused)
        return;
    largest = size > largest ? size : largest;
    total = size > SIZE_MAX - total ? SIZE_MAX : total + size;
}

void *__wrap_malloc(size_t size)
{
    count(size);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t items, size_t size)
{
    count(size && items > SIZE_MAX / size ? SIZE_MAX : items * size);
    return __real_calloc(items, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    count(size);
    return __real_realloc(old, size);
}

/* The program, too, ends where JSON lacks memory. */
static void *allocate_json(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        abort();
    return memory;
}

void limit_install(void)
{
    json_set_alloc_funcs(allocate_json, free);
}

void limit_count(bool counts)
{
    paused = !counts;
}

void limit_reset(void)
{
    largest = total = 0;
}

size_t limit_largest(void)
{
    return largest;
}

size_t limit_total(void)
{
    return total;
}
