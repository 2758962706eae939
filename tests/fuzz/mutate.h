/* SPDX-License-Identifier: Apache-2.0
 *
 * Damages files at random. The random numbers come from a counter: an input of a seed is the same on every
 * machine.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include "fuzz/target.h"

#include <stdint.h>

enum { FUZZ_MAX_BYTES = 1 << 16 };

struct fuzz_input {
    unsigned char *bytes;
    size_t count;
};

/* Makes input `number` of `seed`: a file of the corpus, damaged in a few places. `made` has room for
 * FUZZ_MAX_BYTES. */
void fuzz_mutate(const struct fuzz_target *target, const struct fuzz_input *corpus, int corpus_count,
                 uint64_t seed, uint32_t number, struct fuzz_input *made);

#endif
