/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory between two inaccessible pages: code that reads or writes one byte outside it crashes.
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

/* `bytes` bytes that end at the page after them, or begin at the page before them. Test with both, because
 * the other side is guarded only to a multiple of the page size. Ends the test if there is no memory. */
struct guarded guarded_create(size_t bytes, bool at_end);
void guarded_destroy(struct guarded *guarded);

#endif
