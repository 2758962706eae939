/* SPDX-License-Identifier: Apache-2.0
 *
 * What the losses of tokens become.
 */
#ifndef ROTARY_SCORE_TOKEN_SCORES_H
#define ROTARY_SCORE_TOKEN_SCORES_H

#include <stdint.h>

/* Sums over tokens; those without a target are not in them. */
struct token_sums {
    double total;             /* of the losses, in nats */
    int64_t counted, correct; /* tokens; those whose argmax is the target */
    int64_t bytes;            /* of the text that they are; 0: it is not known */
};

struct token_scores {
    double loss;          /* mean, nats per token */
    double perplexity;    /* exp(loss) */
    double accuracy;      /* share of the tokens whose argmax is the target */
    double bits_per_byte; /* total / ln 2 / bytes; 0: the bytes are not known */
};

/* The scores of sums; all NaN but bits_per_byte if no token was counted: there is nothing to say then. */
struct token_scores token_scores(struct token_sums sums);

#endif
