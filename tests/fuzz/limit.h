/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the memory that a parser allocates: the linker's --wrap intercepts the allocations of our own code,
 * and jansson is given the same functions.
 */
#ifndef TESTS_FUZZ_LIMIT_H
#define TESTS_FUZZ_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Counts jansson's allocations too. */
void limit_install(void);
/* Whether allocations are counted, as they are at first. */
void limit_count(bool counts);
/* Sets both counts to 0. */
void limit_reset(void);
/* Bytes of the largest block, and of all blocks, freed or not. */
size_t limit_largest(void);
size_t limit_total(void);

#endif
