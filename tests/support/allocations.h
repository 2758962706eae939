/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts allocations of this project's code. The linker's --wrap, which the CMake target `allocations`
 * passes, redirects the calls in the files it links. Allocations in shared libraries, such as oneDNN's small
 * lists of arguments, are not counted.
 */
#ifndef TESTS_SUPPORT_ALLOCATIONS_H
#define TESTS_SUPPORT_ALLOCATIONS_H

#include <stdint.h>

/* Calls of malloc, calloc, realloc, aligned_alloc and posix_memalign so far. */
int64_t allocations_counted(void);

#endif
