/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts what our own code asks of the allocator. The linker's --wrap (the CMake target `allocations` passes
 * it) redirects calls in the files it links: those of shared libraries, oneDNN's small lists of arguments
 * among them, do not count.
 */
#ifndef TESTS_SUPPORT_ALLOCATIONS_H
#define TESTS_SUPPORT_ALLOCATIONS_H

#include <stdint.h>

/* Calls of malloc, calloc, realloc, aligned_alloc and posix_memalign so far. */
int64_t allocations_counted(void);

#endif
