/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rank_update.h"

#include "base/integer.h"

/* The blocks of a rank are those of its part of the elements. */
static rotary_status complete_squares(void *argument, double *squares, rotary_error *error)
{
    const struct rank_update *update = argument;
    const struct ranks_parts blocks = {divide_up(update->parts.count, update->parts.block), 1};
    return ranks_gather_parts(update->ranks, blocks, squares, sizeof *squares, error);
}

void rank_update_begin(struct rank_update *update, const struct ranks *ranks, struct parameters *parameters)
{
    *update = (struct rank_update){.parameters = parameters};
    if (!ranks || parameters->adapter || !parameters->backend->operations->on_host)
        return;
    update->ranks = ranks;
    update->parts = (struct ranks_parts){parameters->trained_elements, parameters_block(parameters)};
    const struct ranks_part own = ranks_part_of(ranks, update->parts, ranks_index(ranks));
    update->share = (struct update_share){
        .first = own.first, .count = own.count, .complete = complete_squares, .argument = update};
    parameters->share = &update->share;
}

rotary_status rank_update_sum(struct rank_update *update, float *scratch, rotary_error *error)
{
    return ranks_sum_parts(update->ranks, update->parts, update->parameters->gradients, scratch, error);
}

rotary_status rank_update_finish(struct rank_update *update, bool diverged, rotary_error *error)
{
    if (!update->ranks)
        return ROTARY_OK;
    float *const numbers = diverged ? update->parameters->gradients : update->parameters->values;
    return ranks_gather_parts(update->ranks, update->parts, numbers, sizeof *numbers, error);
}

static rotary_status move_moments(struct rank_update *update, bool to_first, rotary_error *error)
{
    if (!update->ranks)
        return ROTARY_OK;
    float *const moments[] = {update->parameters->moment1, update->parameters->moment2};
    rotary_status status = ROTARY_OK;
    for (int rank = 1; rank < ranks_count(update->ranks); rank++) {
        const struct ranks_part part = ranks_part_of(update->ranks, update->parts, rank);
        for (int i = 0; i < 2 && status == ROTARY_OK; i++)
            status = ranks_give(update->ranks, to_first ? rank : 0, to_first ? 0 : rank,
                                moments[i] + part.first, (size_t)part.count * sizeof *moments[i], error);
    }
    return status;
}

rotary_status rank_update_give_moments(struct rank_update *update, rotary_error *error)
{
    return move_moments(update, false, error);
}

rotary_status rank_update_collect_moments(struct rank_update *update, rotary_error *error)
{
    if (!update->share.scattered)
        return ROTARY_OK;
    const rotary_status status = move_moments(update, true, error);
    update->share.scattered = status != ROTARY_OK;
    return status;
}
