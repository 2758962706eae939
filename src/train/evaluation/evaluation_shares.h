/* SPDX-License-Identifier: Apache-2.0
 *
 * The shares of an evaluation that ranks have. Each computes its own; then all agree, and rank 0 gets what the others
 * have computed.
 */
#ifndef ROTARY_TRAIN_EVALUATION_EVALUATION_SHARES_H
#define ROTARY_TRAIN_EVALUATION_EVALUATION_SHARES_H

#include "ranks/ranks.h"
#include "train/evaluation/scores.h"

/* Items first ... end - 1 of all. */
struct item_range {
    int64_t first, end;
};
/* A group of those that `count` problems are divided into, by config->shards. */
struct item_range evaluation_group(const struct evaluation_config *config, int64_t count, int64_t group);
/* The groups of a rank. */
struct item_range evaluation_groups(const struct evaluation_config *config, int rank);

/* What was generated for `count` problems: generated[i] tokens in row i of tokens, [count, stride]. */
struct generated_tokens {
    int64_t count, stride;
    int32_t *tokens;
    int64_t *generated;
};
ROTARY_CHECKED rotary_status evaluation_collect_tokens(const struct evaluation_config *config,
                                                       const struct generated_tokens *all,
                                                       rotary_error *error);

/* Losses of batches, until rank 0 takes them in the order in which they were kept. All zero: none. */
struct kept_losses {
    int64_t batches, tokens, taken, taken_tokens;
    struct loss_sums *sums; /* [batches] */
    float *losses;          /* [tokens], of tasks whose evaluation has them */
};
/* losses: [tokens], or NULL. */
ROTARY_CHECKED rotary_status kept_losses_add(struct kept_losses *kept, const struct loss_sums *sums,
                                             const float *losses, int64_t tokens, rotary_error *error);
void kept_losses_take(struct kept_losses *kept, struct loss_sums *sums, float *losses, int64_t tokens);
void kept_losses_free(struct kept_losses *kept);

#endif
