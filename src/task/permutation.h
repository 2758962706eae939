/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a finite corpus. Every epoch has a random order of its own, and which example a row is
 * follows from the seed and the row's ordinal alone. There is no cursor: a run resumed in the middle of an
 * epoch draws the same examples as one that was not interrupted.
 */
#ifndef ROTARY_TASK_PERMUTATION_H
#define ROTARY_TASK_PERMUTATION_H

#include "task/task.h"

/* Where `index` of 0 ... count - 1 goes in a random permutation of them, which is a pure function of seed and
 * epoch; count is 1 ... 2^62. No memory is needed. A Feistel network whose round function is Philox permutes
 * a rectangle of a few more than `count` numbers; numbers of `count` and above are permuted again until one
 * is below (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Epochs
 * that are 2^32 apart have the same order. */
int64_t permutation_at(uint64_t seed, uint64_t epoch, int64_t count, int64_t index);

/* An example of a finite corpus. */
struct corpus_example {
    uint64_t epoch; /* counted from 0 */
    int64_t index;  /* of the example, 0 ... count - 1 */
};
/* The example at a place of the training data, its seed and ordinal, of a corpus of `count`, at least 1. Rows
 * of all steps are one sequence, which is cut into epochs: every epoch has every example once. An epoch may
 * end within a step. */
struct corpus_example corpus_training_example(const struct task_place *place, int64_t count);

#endif
