/* SPDX-License-Identifier: Apache-2.0
 *
 * Beam search without a cache and without slots: whole hypotheses are copied, all continuations are sorted.
 */
#ifndef TESTS_MODEL_PLAIN_SEARCH_H
#define TESTS_MODEL_PLAIN_SEARCH_H

#include <stdint.h>

enum { PLAIN_LONGEST = 24, PLAIN_VOCABULARY = 24, PLAIN_MAX = 300 };

struct plain_problem {
    int64_t vocabulary, size, longest;
    double penalty;
    int32_t end;
    /* log p of every token after those of an output; -INFINITY: it may not be one. */
    void (*next)(const void *context, const int32_t *tokens, int64_t length, double *log_p);
    const void *context;
};

struct plain_output {
    double sum, score;
    int64_t length, rank; /* rank: the place among equals */
    int32_t tokens[PLAIN_LONGEST];
};

/* Fills outputs [PLAIN_MAX + 1], the best first; returns their number, at most problem->size. */
int64_t plain_search(const struct plain_problem *problem, struct plain_output *outputs);

#endif
