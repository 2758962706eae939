/* SPDX-License-Identifier: Apache-2.0 */
#include "train/together.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "cuda/device_backend.h"
#include "file/file.h"
#include "train/shard_sums.h"

#include <rotary/version.h>
#include <stdlib.h>
#include <string.h>

rotary_status together_check_shards(const struct ranks *ranks, const struct run_config *config,
                                    rotary_error *error)
{
    const long long count = ranks_count(ranks), shards = config->train.shards;
    if ((count & (count - 1)) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld ranks were started: wanted a power of two, such as %d", count,
                           1 << shard_levels(count));
    if (shards % count == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "shards is %lld, but %lld ranks were started, each of which computes a share of the "
                       "shards: wanted at most %lld ranks, or for a new run --set shards=%lld",
                       shards, count, shards, count);
}

/* ---- alike ---- */

struct alike {
    uint64_t config;
    int32_t isa, storage, cuda;
    char version[32];
};

static rotary_status fail_unlike(const struct ranks *ranks, const struct alike *own,
                                 const struct alike *first, rotary_error *error)
{
    const char *what = "configuration", *here = "another one", *there = "its own";
    if (strcmp(own->version, first->version) != 0)
        what = "version", here = own->version, there = first->version;
    else if (own->isa != first->isa)
        what = "instruction set", here = rotary_isa_name((rotary_isa)own->isa),
        there = rotary_isa_name((rotary_isa)first->isa);
    else if (own->cuda != first->cuda)
        what = "device", here = own->cuda ? "cuda" : "cpu", there = first->cuda ? "cuda" : "cpu";
    else if (own->storage != first->storage)
        what = "precision", here = rotary_dtype_name((rotary_dtype)own->storage),
        there = rotary_dtype_name((rotary_dtype)first->storage);
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "the %s of rank %d on %s is %s, that of rank 0 is %s: wanted the same on all, by the same "
        "program, options, files, --device, --isa and --precision",
        what, ranks_index(ranks), ranks_host(ranks), here, there);
}

/* 0: there is none, or no memory to compute it, which is the same on all ranks or refused. */
static uint64_t hash_of(const struct run_config *config)
{
    json_t *object = NULL;
    char *text = NULL;
    if (config && run_config_to_json(config, &object, NULL) == ROTARY_OK)
        text = file_json_text(object, JSON_SORT_KEYS);
    const uint64_t hash = text ? rotary_hash(text, strlen(text)) : 0;
    free(text);
    json_decref(object);
    return hash;
}

rotary_status together_check_same(const struct ranks *ranks, const struct run_config *config,
                                  const struct backend *backend, rotary_error *error)
{
    if (ranks_count(ranks) == 1)
        return ROTARY_OK;
    struct alike own = {.config = hash_of(config),
                        .isa = backend->isa,
                        .storage = backend->storage,
                        .cuda = device_is_cuda(backend)},
                 first;
    strncpy(own.version, rotary_version(), sizeof own.version - 1);
    first = own;
    rotary_status status = ranks_share(ranks, &first, sizeof first, error);
    if (status != ROTARY_OK)
        return status;
    if (own.config != first.config || own.isa != first.isa || own.cuda != first.cuda ||
        own.storage != first.storage || strcmp(own.version, first.version) != 0)
        status = fail_unlike(ranks, &own, &first, error);
    return ranks_agree(ranks, status, error);
}

/* ---- parameters ---- */

static rotary_status share_range(const struct ranks *ranks, struct parameters *parameters,
                                 struct parameter_range range, float *host, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (ranks_index(ranks) == 0)
        status = parameters_read(parameters, range, host, error);
    if (status == ROTARY_OK)
        status = ranks_share(ranks, host, (size_t)range.count * sizeof *host, error);
    return status == ROTARY_OK && ranks_index(ranks) > 0 ? parameters_write(parameters, range, host, error)
                                                         : status;
}

static rotary_status share_row(const struct ranks *ranks, struct parameters *parameters, int index,
                               float *host, rotary_error *error)
{
    static const enum parameter_array arrays[] = {PARAMETER_VALUES, PARAMETER_MOMENT1, PARAMETER_MOMENT2};
    const struct parameter *row = &parameters->rows[index];
    const int count = parameter_is_trained(row) && !parameters->share ? 3 : 1;
    const int64_t elements = parameter_elements(row);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++)
        for (int64_t first = 0; status == ROTARY_OK && first < elements; first += RANKS_PIECE) {
            const struct parameter_range range = {.array = arrays[i],
                                                  .index = index,
                                                  .first = first,
                                                  .count = min_i64(RANKS_PIECE, elements - first)};
            status = share_range(ranks, parameters, range, host, error);
        }
    return status;
}

rotary_status together_share_parameters(const struct ranks *ranks, struct parameters *parameters,
                                        rotary_error *error)
{
    if (ranks_count(ranks) == 1)
        return ROTARY_OK;
    float *host = malloc(RANKS_PIECE * sizeof *host);
    rotary_status status = host ? ROTARY_OK : rotary_fail_memory(error, "for parameters of other ranks");
    status = ranks_agree(ranks, status, error);
    for (struct parameters *table = parameters; table; table = table->adapter)
        for (int i = 0; status == ROTARY_OK && i < table->count; i++)
            status = share_row(ranks, table, i, host, error);
    free(host);
    return status;
}

/* ---- a step ---- */

/* Sums numbers in backend memory by way of the host's, unless they are there. */
static rotary_status sum_piece(const struct ranks *ranks, const struct backend *backend, float *numbers,
                               int64_t count, float *pieces, rotary_error *error)
{
    const size_t bytes = (size_t)count * sizeof *numbers;
    float *const host = pieces, *const scratch = pieces + RANKS_PIECE;
    if (backend->operations->on_host)
        return ranks_sum(ranks, numbers, count, scratch, error);
    rotary_status status = backend->operations->read(backend, host, numbers, bytes, error);
    if (status == ROTARY_OK)
        status = ranks_sum(ranks, host, count, scratch, error);
    return status == ROTARY_OK ? backend->operations->write(backend, numbers, host, bytes, error) : status;
}

rotary_status together_sum_gradients(const struct ranks *ranks, struct parameters *parameters, float *pieces,
                                     rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; status == ROTARY_OK && first < parameters->gradient_elements;
         first += RANKS_PIECE) {
        const int64_t count = min_i64(RANKS_PIECE, parameters->gradient_elements - first);
        status = sum_piece(ranks, parameters->backend, parameters->gradients + first, count, pieces, error);
    }
    return status;
}

static void add_counts(void *lower, const void *upper)
{
    struct together_counts *sum = lower;
    const struct together_counts *other = upper;
    sum->targets += other->targets;
    sum->tokens += other->tokens;
    sum->sequences += other->sequences;
    sum->stops += other->stops;
    sum->evaluates += other->evaluates;
    sum->collects += other->collects;
}

rotary_status together_count(const struct ranks *ranks, struct together_counts *counts, rotary_error *error)
{
    return ranks_reduce(ranks, counts, sizeof *counts, add_counts, error);
}

static void add_losses(void *lower, const void *upper)
{
    struct together_losses *sum = lower;
    const struct together_losses *other = upper;
    sum->sums = loss_sums_add(sum->sums, other->sums);
    sum->failed += other->failed;
}

rotary_status together_sum_losses(const struct ranks *ranks, struct together_losses *losses,
                                  rotary_error *error)
{
    return ranks_reduce(ranks, losses, sizeof *losses, add_losses, error);
}
