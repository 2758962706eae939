/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of tokens by their position in a sequence, in bins of about equally many positions: how far a
 * model uses its context, and where it ends (Press et al., "Train Short, Test Long", 2022, and the perplexity
 * of Peng et al., "YaRN", 2023).
 */
#ifndef ROTARY_SCORE_POSITION_LOSSES_H
#define ROTARY_SCORE_POSITION_LOSSES_H

#include <stdint.h>

enum { POSITION_BINS = 32 };

struct position_losses {
    int64_t length; /* positions: tokens that a sequence reads, at most; 0: nothing is known */
    struct position_bin {
        double total;    /* of the losses, in nats */
        int64_t counted; /* tokens */
    } bins[POSITION_BINS];
};

/* The bins of sequences of `length` tokens: POSITION_BINS, or one for each position if these are fewer. */
int position_bins(int64_t length);
/* The bin of a position, counted from 0, and the first position of a bin; that of `position_bins` is
 * `length`. */
int position_bin(int64_t length, int64_t position);
int64_t position_begin(int64_t length, int bin);
/* Adds the loss of the token that is predicted at `position`, from position + 1 tokens. */
void position_losses_add(struct position_losses *losses, int64_t position, double loss);
/* Mean nats per token; NaN: the bin has none. */
double position_loss(const struct position_losses *losses, int bin);

#endif
