/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefetching of what is read once from its first byte to its last: hardware does not prefetch beyond a page.
 * Lines go into the second-level cache, since the first waits for fewer of them at once.
 */
#ifndef ROTARY_KERNEL_PREFETCH_H
#define ROTARY_KERNEL_PREFETCH_H

#include <stdint.h>

/* PREFETCH_BYTES: how far ahead of a read its lines are prefetched. Before that one line of each page is, so that
 * the page's translation is known by the time the others are; pages are in groups of PREFETCH_PAGES_BYTES, since a
 * processor finds several translations at once. */
enum { PREFETCH_BYTES = 12288, PREFETCH_PAGES_BYTES = 32768, PREFETCH_LINE = 64, PREFETCH_PAGE = 4096 };

static inline void prefetch_line(const char *at)
{
    __builtin_prefetch(at, 0, 2);
}

/* For each group of pages that begins in these bytes prefetches the one after it. */
static inline void prefetch_pages(const char *from, int64_t bytes)
{
    const char *end = from + bytes, *group = end - (uintptr_t)end % PREFETCH_PAGES_BYTES;
    for (; group > from; group -= PREFETCH_PAGES_BYTES)
        for (int64_t byte = PREFETCH_PAGES_BYTES; byte < 2 * PREFETCH_PAGES_BYTES; byte += PREFETCH_PAGE)
            prefetch_line(group + byte);
}

#endif
