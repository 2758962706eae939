/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory between two pages that may not be touched: code that reads or writes one byte outside dies at once.
 */
#ifndef TESTS_SUPPORT_GUARD_H
#define TESTS_SUPPORT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guarded {
    void *data; /* zeroed */
    void *mapping;
    size_t mapped;
};

/* `bytes` bytes that end where the page behind begins, or begin where the page in front ends. A byte guarded
 * on the far side is found by making both. Ends the test if memory cannot be had. */
struct guarded guarded_create(size_t bytes, bool at_end);
void guarded_destroy(struct guarded *guarded);

#endif
