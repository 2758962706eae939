/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/evaluation_shares.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

struct item_range evaluation_group(const struct evaluation_config *config, int64_t count, int64_t group)
{
    const int64_t groups = max_i64(config->shards, 1);
    return (struct item_range){count * group / groups, count * (group + 1) / groups};
}

struct item_range evaluation_groups(const struct evaluation_config *config, int rank)
{
    const int64_t own = max_i64(config->shards, 1) / ranks_count(config->ranks);
    return (struct item_range){rank * own, (rank + 1) * own};
}

/* Groups of a rank are one behind another, and so are their problems. */
rotary_status evaluation_collect_tokens(const struct evaluation_config *config,
                                        const struct generated_tokens *all, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int rank = 1; status == ROTARY_OK && rank < ranks_count(config->ranks); rank++) {
        const struct item_range groups = evaluation_groups(config, rank);
        const int64_t first = evaluation_group(config, all->count, groups.first).first,
                      count = evaluation_group(config, all->count, groups.end - 1).end - first;
        status = ranks_give(config->ranks, rank, 0, all->generated + first,
                            (size_t)count * sizeof *all->generated, error);
        if (status == ROTARY_OK)
            status = ranks_give(config->ranks, rank, 0, all->tokens + first * all->stride,
                                (size_t)(count * all->stride) * sizeof *all->tokens, error);
    }
    return status;
}

rotary_status kept_losses_add(struct kept_losses *kept, const struct loss_sums *sums, const float *losses,
                              int64_t tokens, rotary_error *error)
{
    struct loss_sums *more = realloc(kept->sums, (size_t)(kept->batches + 1) * sizeof *more);
    if (!more)
        return rotary_fail_memory(error, "for the losses of an evaluation");
    kept->sums = more;
    kept->sums[kept->batches++] = *sums;
    if (!losses)
        return ROTARY_OK;
    float *all = realloc(kept->losses, (size_t)(kept->tokens + tokens) * sizeof *all);
    if (!all)
        return rotary_fail_memory(error, "for the losses of an evaluation");
    kept->losses = all;
    memcpy(all + kept->tokens, losses, (size_t)tokens * sizeof *all);
    kept->tokens += tokens;
    return ROTARY_OK;
}

void kept_losses_take(struct kept_losses *kept, struct loss_sums *sums, float *losses, int64_t tokens)
{
    *sums = kept->sums[kept->taken++];
    if (!losses)
        return;
    memcpy(losses, kept->losses + kept->taken_tokens, (size_t)tokens * sizeof *losses);
    kept->taken_tokens += tokens;
}

void kept_losses_free(struct kept_losses *kept)
{
    free(kept->sums);
    free(kept->losses);
    *kept = (struct kept_losses){.batches = 0};
}
