/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory a parser asks for: the linker's --wrap counts what our own code asks of the allocator, and
 * jansson is told to ask here too.
 */
#ifndef TESTS_FUZZ_LIMIT_H
#define TESTS_FUZZ_LIMIT_H

#include <stddef.h>

/* From now on, also what jansson asks for. */
void limit_install(void);
/* Counts from nothing. */
void limit_reset(void);
/* The largest single block asked for, and all of them together, freed or not. */
size_t limit_largest(void);
size_t limit_total(void);

#endif
