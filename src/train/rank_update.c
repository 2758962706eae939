/* SPDX-License-Identifier: Apache-2.0 */
#include "train/rank_update.h"

#include "base/integer.h"

#include <string.h>

/* ---- parts ---- */

/* Sums of squares of blocks: each is of one rank, and zero on the others, so that no sum is rounded. */
struct squares {
    double of[512];
};

static void add_squares(void *lower, const void *upper)
{
    struct squares *sum = lower;
    const struct squares *other = upper;
    for (int i = 0; i < (int)(sizeof sum->of / sizeof *sum->of); i++)
        sum->of[i] += other->of[i];
}

static rotary_status complete_squares(void *argument, double *squares, rotary_error *error)
{
    const struct rank_update *update = argument;
    const size_t bytes = (size_t)PARAMETER_BLOCKS * sizeof *squares;
    struct squares piece;
    rotary_status status = ROTARY_OK;
    for (size_t first = 0; first < bytes && status == ROTARY_OK; first += sizeof piece) {
        memcpy(&piece, (char *)squares + first, sizeof piece);
        status = ranks_reduce(update->ranks, &piece, sizeof piece, add_squares, error);
        memcpy((char *)squares + first, &piece, sizeof piece);
    }
    return status;
}

/* Buckets have blocks for every rank, and are not so small that messages take longer than what they carry. */
static int64_t bucket_elements(const struct parameters *parameters, int ranks)
{
    enum { MIN_ELEMENTS = 1 << 16 };
    const int64_t block = parameters_block(parameters),
                  wanted = max_i64(divide_up(parameters->trained_elements, RANK_BUCKETS), MIN_ELEMENTS);
    return round_up(divide_up(wanted, block), ranks) * block;
}

/* Adds those buckets that are all of sublayers, or all others, from the last to the first: as the backward pass comes
 * to them. */
static void add_buckets(struct rank_update *update, int64_t stack_first, bool of_stack)
{
    const struct parameters *parameters = update->parameters;
    const int64_t elements = bucket_elements(parameters, ranks_count(update->ranks)),
                  count = divide_up(parameters->trained_elements, elements);
    for (int64_t i = count - 1; i >= 0; i--) {
        const int64_t first = i * elements, end = min_i64(first + elements, parameters->trained_elements);
        if ((first >= stack_first && end <= update->stack_end) == of_stack)
            update->buckets[update->count++] =
                (struct rank_bucket){first, {end - first, parameters_block(parameters)}};
    }
}

static void list_blocks(struct rank_update *update)
{
    const int own = ranks_index(update->ranks);
    update->share =
        (struct update_share){.blocks = update->blocks, .complete = complete_squares, .argument = update};
    for (int i = 0; i < update->count; i++) {
        const struct rank_bucket *bucket = &update->buckets[i];
        const struct ranks_part part = ranks_part_of(update->ranks, bucket->parts, own);
        for (int64_t k = 0; k < divide_up(part.count, bucket->parts.block); k++)
            update->blocks[update->share.count++] = (bucket->first + part.first) / bucket->parts.block + k;
        update->share.elements += part.count;
    }
}

void rank_update_begin(struct rank_update *update, const struct ranks *ranks, struct parameters *parameters,
                       struct parameter_rows sublayers)
{
    *update = (struct rank_update){.parameters = parameters};
    if (!ranks || parameters->adapter || !parameters->backend->operations->on_host)
        return;
    const struct parameter *first = &parameters->rows[sublayers.first],
                           *last = &parameters->rows[sublayers.end - 1];
    update->ranks = ranks;
    update->stack_end = last->gradient_offset + parameter_elements(last);
    add_buckets(update, first->gradient_offset, true);
    add_buckets(update, first->gradient_offset, false);
    list_blocks(update);
    pthread_mutex_init(&update->lock, NULL);
    pthread_cond_init(&update->changed, NULL);
    parameters->share = &update->share;
}

void rank_update_end(struct rank_update *update)
{
    if (!update->ranks)
        return;
    pthread_cond_destroy(&update->changed);
    pthread_mutex_destroy(&update->lock);
}

/* ---- sums ---- */

static void wait_until_complete(struct rank_update *update, const struct rank_bucket *bucket)
{
    pthread_mutex_lock(&update->lock);
    while (!update->all_complete &&
           (bucket->first < update->complete || bucket->first + bucket->parts.count > update->stack_end))
        pthread_cond_wait(&update->changed, &update->lock);
    pthread_mutex_unlock(&update->lock);
}

static void *sum_buckets(void *argument)
{
    struct rank_update *update = argument;
    update->status = ROTARY_OK;
    for (int i = 0; i < update->count && update->status == ROTARY_OK; i++) {
        const struct rank_bucket *bucket = &update->buckets[i];
        float *const gradients = update->parameters->gradients + bucket->first;
        wait_until_complete(update, bucket);
        if (update->sums)
            shard_sums_add_left(update->sums, gradients, bucket->first, bucket->parts.count);
        update->status =
            ranks_sum_parts(update->ranks, bucket->parts, gradients, update->scratch, &update->error);
    }
    return NULL;
}

static void set_complete(struct rank_update *update, int64_t first, bool all)
{
    pthread_mutex_lock(&update->lock);
    update->complete = first;
    update->all_complete = all;
    pthread_cond_signal(&update->changed);
    pthread_mutex_unlock(&update->lock);
}

void rank_update_start_sums(struct rank_update *update, const struct shard_sums *sums, float *scratch)
{
    update->sums = sums;
    update->scratch = scratch;
    set_complete(update, INT64_MAX, false);
    update->runs = pthread_create(&update->thread, NULL, sum_buckets, update) == 0;
}

void rank_update_complete(void *argument, int row)
{
    struct rank_update *update = argument;
    set_complete(update, update->parameters->rows[row].gradient_offset, false);
}

rotary_status rank_update_finish_sums(struct rank_update *update, float *scratch, rotary_error *error)
{
    update->scratch = scratch;
    set_complete(update, 0, true);
    if (update->runs)
        pthread_join(update->thread, NULL);
    else
        sum_buckets(update);
    update->runs = false;
    update->sums = NULL;
    if (update->status != ROTARY_OK && error)
        *error = update->error;
    return update->status;
}

rotary_status rank_update_gather(struct rank_update *update, bool diverged, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (!update->ranks)
        return status;
    float *const numbers = diverged ? update->parameters->gradients : update->parameters->values;
    for (int i = 0; i < update->count && status == ROTARY_OK; i++)
        status = ranks_gather_parts(update->ranks, update->buckets[i].parts,
                                    numbers + update->buckets[i].first, sizeof *numbers, error);
    return status;
}

/* ---- moments ---- */

static rotary_status move_bucket(struct rank_update *update, const struct rank_bucket *bucket, bool to_first,
                                 rotary_error *error)
{
    float *const moments[] = {update->parameters->moment1, update->parameters->moment2};
    rotary_status status = ROTARY_OK;
    for (int rank = 1; rank < ranks_count(update->ranks); rank++) {
        const struct ranks_part part = ranks_part_of(update->ranks, bucket->parts, rank);
        for (int i = 0; i < 2 && status == ROTARY_OK; i++)
            status = ranks_give(update->ranks, to_first ? rank : 0, to_first ? 0 : rank,
                                moments[i] + bucket->first + part.first,
                                (size_t)part.count * sizeof *moments[i], error);
    }
    return status;
}

static rotary_status move_moments(struct rank_update *update, bool to_first, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < update->count && status == ROTARY_OK; i++)
        status = move_bucket(update, &update->buckets[i], to_first, error);
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
