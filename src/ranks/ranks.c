/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "ranks/transport.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_REDUCED = 4096 };

rotary_status ranks_begin(struct ranks **ranks, ranks_lost *lost, void *argument, rotary_error *error)
{
    *ranks = NULL;
    struct ranks *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for ranks");
    const rotary_status status = ranks_transport_begin(made, lost, argument, error);
    if (status == ROTARY_OK && made->count > 1)
        *ranks = made;
    else
        free(made);
    return status;
}

void ranks_end(struct ranks *ranks)
{
    if (!ranks)
        return;
    if (ranks_agree(ranks, ROTARY_OK, NULL) == ROTARY_OK)
        ranks->transport->end(ranks->state);
    free(ranks);
}

const char *ranks_library(char text[RANKS_LIBRARY_BYTES])
{
    return ranks_transport_library(text);
}

int ranks_count(const struct ranks *ranks)
{
    return ranks ? ranks->count : 1;
}

int ranks_index(const struct ranks *ranks)
{
    return ranks ? ranks->index : 0;
}

int ranks_threads(const struct ranks *ranks)
{
    return ranks ? ranks->threads : rotary_processors();
}

const char *ranks_host(const struct ranks *ranks)
{
    return ranks ? ranks->host : "";
}

static rotary_status exchange(const struct ranks *ranks, const struct ranks_exchange *given,
                              rotary_error *error)
{
    return ranks->transport->exchange(ranks->state, given, error);
}

/* From rank 0 along a binomial tree: who has it gives it to the one that is as far away as there are that have it.
 */
rotary_status ranks_share(const struct ranks *ranks, void *data, size_t bytes, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int have = 1; have < ranks_count(ranks) && status == ROTARY_OK; have *= 2) {
        const bool gives = ranks->index < have && ranks->index + have < ranks->count,
                   takes = ranks->index >= have && ranks->index < 2 * have;
        const struct ranks_exchange gift = {.partner = ranks->index + have,
                                            .send = data,
                                            .send_bytes = bytes},
                                    receipt = {.partner = ranks->index - have,
                                               .receive = data,
                                               .receive_bytes = bytes};
        if (gives || takes)
            status = exchange(ranks, gives ? &gift : &receipt, error);
    }
    return status;
}

rotary_status ranks_give(const struct ranks *ranks, int from, int to, void *data, size_t bytes,
                         rotary_error *error)
{
    const struct ranks_exchange gift = {.partner = to, .send = data, .send_bytes = bytes},
                                receipt = {.partner = from, .receive = data, .receive_bytes = bytes};
    const int own = ranks_index(ranks);
    if (from == to || (own != from && own != to))
        return ROTARY_OK;
    return exchange(ranks, own == from ? &gift : &receipt, error);
}

rotary_status ranks_reduce(const struct ranks *ranks, void *value, size_t bytes, ranks_combine *combine,
                           rotary_error *error)
{
    char other[MAX_REDUCED], lower[MAX_REDUCED];
    rotary_status status = ROTARY_OK;
    for (int distance = 1; distance < ranks_count(ranks) && status == ROTARY_OK; distance *= 2) {
        const struct ranks_exchange all = {.partner = ranks->index ^ distance,
                                           .send = value,
                                           .send_bytes = bytes,
                                           .receive = other,
                                           .receive_bytes = bytes};
        status = exchange(ranks, &all, error);
        if (status != ROTARY_OK)
            break;
        const bool is_lower = (ranks->index & distance) == 0;
        memcpy(lower, is_lower ? (char *)value : other, bytes);
        combine(lower, is_lower ? other : (char *)value);
        memcpy(value, lower, bytes);
    }
    return status;
}

/* ---- parts ---- */

/* What a rank has the sums of after `levels` of halving. Each time it takes the upper half of the parts if it is the
 * upper one of the two that halve: so parts are in the order of reversed bits of their ranks. */
static struct ranks_part part_at(const struct ranks *ranks, struct ranks_parts parts, int rank, int levels)
{
    const int64_t blocks = divide_up(parts.count, parts.block), count = ranks_count(ranks);
    int64_t first = 0, width = count;
    for (int level = 0; level < levels; level++) {
        width /= 2;
        if (rank >> level & 1)
            first += width;
    }
    const int64_t begin = min_i64(parts.count, blocks * first / count * parts.block),
                  end = min_i64(parts.count, blocks * (first + width) / count * parts.block);
    return (struct ranks_part){begin, end - begin};
}

static int levels_of(const struct ranks *ranks)
{
    int levels = 0;
    while (1 << levels < ranks_count(ranks))
        levels++;
    return levels;
}

struct ranks_part ranks_part_of(const struct ranks *ranks, struct ranks_parts parts, int rank)
{
    return part_at(ranks, parts, rank, levels_of(ranks));
}

/* At most RANKS_PIECE of the numbers of a part, from `offset` on. */
static struct ranks_part piece_at(struct ranks_part part, int64_t offset)
{
    const int64_t left = max_i64(part.count - offset, 0);
    return (struct ranks_part){part.first + min_i64(offset, part.count), min_i64(left, RANKS_PIECE)};
}

/* Of what two ranks have the sums of so far, this one gives the other a half and adds what it gets of its own. */
static rotary_status halve(const struct ranks *ranks, struct ranks_parts parts, int level, float *values,
                           float *scratch, rotary_error *error)
{
    const int partner = ranks->index ^ 1 << level;
    const struct ranks_part own = part_at(ranks, parts, ranks->index, level + 1),
                            other = part_at(ranks, parts, partner, level + 1);
    const int64_t count = max_i64(own.count, other.count);
    rotary_status status = ROTARY_OK;
    for (int64_t offset = 0; offset < count && status == ROTARY_OK; offset += RANKS_PIECE) {
        const struct ranks_part kept = piece_at(own, offset), given = piece_at(other, offset);
        const struct ranks_exchange pieces = {.partner = partner,
                                              .send = values + given.first,
                                              .send_bytes = (size_t)given.count * sizeof *values,
                                              .receive = scratch,
                                              .receive_bytes = (size_t)kept.count * sizeof *values};
        status = exchange(ranks, &pieces, error);
        for (int64_t i = 0; i < kept.count && status == ROTARY_OK; i++)
            values[kept.first + i] += scratch[i];
        memset(values + given.first, 0, (size_t)given.count * sizeof *values);
    }
    return status;
}

/* Neighbours begin, so that the sums are those of the tree. a + b has the bits of b + a. */
rotary_status ranks_sum_parts(const struct ranks *ranks, struct ranks_parts parts, float *values,
                              float *scratch, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int level = 0; level < levels_of(ranks) && status == ROTARY_OK; level++)
        status = halve(ranks, parts, level, values, scratch, error);
    return status;
}

/* Doubling: in the reverse order of halving each gives the other what it has. */
rotary_status ranks_gather_parts(const struct ranks *ranks, struct ranks_parts parts, void *values,
                                 size_t size, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int level = levels_of(ranks) - 1; level >= 0 && status == ROTARY_OK; level--) {
        const int partner = ranks->index ^ 1 << level;
        const struct ranks_part own = part_at(ranks, parts, ranks->index, level + 1),
                                other = part_at(ranks, parts, partner, level + 1);
        const struct ranks_exchange both = {.partner = partner,
                                            .send = (char *)values + (size_t)own.first * size,
                                            .send_bytes = (size_t)own.count * size,
                                            .receive = (char *)values + (size_t)other.first * size,
                                            .receive_bytes = (size_t)other.count * size};
        status = exchange(ranks, &both, error);
    }
    return status;
}

rotary_status ranks_sum(const struct ranks *ranks, float *values, int64_t count, float *scratch,
                        rotary_error *error)
{
    const struct ranks_parts parts = {count, 1};
    const rotary_status status = ranks_sum_parts(ranks, parts, values, scratch, error);
    return status == ROTARY_OK ? ranks_gather_parts(ranks, parts, values, sizeof *values, error) : status;
}

/* ---- agreement ---- */

struct opinion {
    int rank;
    rotary_status status;
    rotary_error error;
};

/* What another one's failure interrupted is none. */
static int weight_of(rotary_status status)
{
    return status == ROTARY_OK ? 0 : status == ROTARY_INTERRUPTED ? 1 : 2;
}

static void keep_failure(struct opinion *first, const struct opinion *other)
{
    const int difference = weight_of(other->status) - weight_of(first->status);
    if (difference > 0 || (difference == 0 && other->rank < first->rank))
        *first = *other;
}

/* Rank 0 hears from all, one after another along a binomial tree, and tells all: their number need be no power of
 * two. */
static rotary_status collect(const struct ranks *ranks, struct opinion *opinion, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int distance = 1; distance < ranks->count && status == ROTARY_OK; distance *= 2) {
        struct opinion other;
        const bool gives = (ranks->index & distance) != 0;
        const struct ranks_exchange gift = {.partner = ranks->index - distance,
                                            .send = opinion,
                                            .send_bytes = sizeof *opinion},
                                    receipt = {.partner = ranks->index + distance,
                                               .receive = &other,
                                               .receive_bytes = sizeof other};
        if (gives)
            return exchange(ranks, &gift, error);
        if (ranks->index + distance >= ranks->count)
            continue;
        status = exchange(ranks, &receipt, error);
        if (status == ROTARY_OK)
            keep_failure(opinion, &other);
    }
    return status;
}

rotary_status ranks_agree(const struct ranks *ranks, rotary_status status, rotary_error *error)
{
    if (!ranks)
        return status;
    struct opinion opinion = {.rank = ranks->index, .status = status};
    if (status != ROTARY_OK && error)
        opinion.error = *error;
    if (status != ROTARY_OK && ranks->index > 0)
        (void)rotary_fail(&opinion.error, status, "rank %d on %s: %.400s", ranks->index, ranks->host,
                          error ? error->message : rotary_status_name(status));
    rotary_status talk = collect(ranks, &opinion, error);
    if (talk == ROTARY_OK)
        talk = ranks_share(ranks, &opinion, sizeof opinion, error);
    if (talk != ROTARY_OK)
        return talk;
    if (opinion.status != ROTARY_OK && error)
        *error = opinion.error;
    return opinion.status;
}

/* ---- work that each takes for itself ---- */

rotary_status ranks_work_begin(const struct ranks *ranks, const atomic_bool *interrupted,
                               const atomic_bool **stop, rotary_error *error)
{
    const rotary_status status = ranks_agree(ranks, ROTARY_OK, error);
    return status == ROTARY_OK ? ranks->transport->work_begin(ranks->state, interrupted, stop, error)
                               : status;
}

rotary_status ranks_work_next(const struct ranks *ranks, int64_t *number, rotary_error *error)
{
    return ranks->transport->work_next(ranks->state, number, error);
}

rotary_status ranks_work_show(const struct ranks *ranks, const struct ranks_board *own, rotary_error *error)
{
    return ranks->transport->work_show(ranks->state, own, error);
}

rotary_status ranks_work_look(const struct ranks *ranks, struct ranks_board *boards, rotary_error *error)
{
    return ranks->transport->work_look(ranks->state, boards, error);
}

void ranks_work_stop(const struct ranks *ranks)
{
    ranks->transport->work_stop(ranks->state);
}

rotary_status ranks_work_end(const struct ranks *ranks, rotary_status status, rotary_error *error)
{
    status = ranks_agree(ranks, status, error);
    rotary_error other = {0};
    const rotary_status ended = ranks->transport->work_end(ranks->state, &other);
    if (status == ROTARY_OK && ended != ROTARY_OK && error)
        *error = other;
    return status == ROTARY_OK ? ended : status;
}
