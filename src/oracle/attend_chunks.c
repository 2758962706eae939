/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend_chunks.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rotary_status attend_chunks_check(const struct attend_config *config, struct attend_work *work,
                                  rotary_error *error)
{
    const struct rope_chunks *chunks = &work->rotation.config.chunks;
    const struct formula_encoding *encoding = config->position.encoding;
    const char *wanted =
        config->after != 0                                                   ? "--causal"
        : config->before >= 0                                                ? "no --window"
        : config->key_is_value || (config->rotate & ATTEND_VALUE_OUTPUT)     ? "no rotated values"
        : config->rotate != ATTEND_QUERY_KEY                                 ? "--rotate qk"
        : config->key_positions                                              ? "no --key-positions"
        : encoding && config->position.encoding->rotation != FORMULA_ROTATES ? "--position rope"
                                                                             : NULL;
    if (chunks->length == 0)
        return ROTARY_OK;
    work->attention.chunks.length = chunks->length;
    return wanted ? rotary_fail(error, ROTARY_BAD_FILE,
                                "%s has \"dual_chunk_attention_config\", wanted %s with it",
                                config->rotation.config, wanted)
                  : ROTARY_OK;
}

/* Positions that depend on the chunk of what a token meets. */
enum chunk_role { OF_KEY, OF_OWN_CHUNK, OF_CHUNK_BEFORE, OF_ALL_BEFORE };

static int64_t position_in(const struct rope_chunks *chunks, enum chunk_role role, int64_t position)
{
    int64_t inside = position > 0 ? position % chunks->length : 0, last = 2 * chunks->length - 1;
    int64_t after = role == OF_ALL_BEFORE ? last : inside + chunks->length;
    if (role == OF_KEY || role == OF_OWN_CHUNK)
        return inside;
    return after < chunks->reach ? after : chunks->reach;
}

static rotary_status rotate(const struct attend_work *work, enum chunk_role role, int64_t *positions,
                            double *values, rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    bool key = role == OF_KEY;
    struct rotation_target target = {.role = key ? ROTARY_ROLE_KEY : ROTARY_ROLE_QUERY,
                                     .time = key ? attention->keys : attention->queries,
                                     .heads = key ? attention->key_value_heads : attention->heads,
                                     .positions = positions};
    rotary_status status = ROTARY_OK;
    for (int64_t b = 0; !status && b < attention->batch; b++) {
        int64_t first = key ? 0 : attention->sequences[b].first_query;
        for (int64_t t = 0; t < target.time; t++)
            positions[t] = position_in(&work->rotation.config.chunks, role, first + t);
        target.values = values + b * target.time * target.heads * attention->head_dim;
        status = rotation_apply(&work->rotation, &target, error);
    }
    return status;
}

/* Multiplies queries, so that the scores of N keys grow with ln(N / original). */
static void scale(struct attend_work *work)
{
    const struct reference_attention *attention = &work->attention;
    const int64_t row = attention->queries * attention->heads * attention->head_dim;
    const double original = (double)work->rotation.config.chunks.original;
    for (int64_t b = 0; original > 0 && b < attention->batch; b++) {
        double keys = (double)attention->sequences[b].keys;
        double magnitude = fmax(1.0, 1.0 + 0.1 * log(fmax(keys, 1.0) / original));
        for (int64_t i = 0; i < row; i++)
            work->query.tensor.values[b * row + i] *= magnitude * magnitude;
    }
}

rotary_status attend_chunks_rotate(struct attend_work *work, rotary_error *error)
{
    struct reference_attention *attention = &work->attention;
    const int64_t count = work->query.tensor.elements;
    const int64_t times = attention->queries + attention->keys;
    int64_t *positions = malloc((size_t)times * sizeof *positions);
    work->chunks = malloc(2 * (size_t)count * sizeof *work->chunks);
    if (!positions || !work->chunks) {
        free(positions);
        return rotary_fail_memory(error, "for queries by chunk");
    }
    double *query = work->query.tensor.values, *successive = work->chunks, *distant = work->chunks + count;
    scale(work);
    memcpy(successive, query, (size_t)count * sizeof *query);
    memcpy(distant, query, (size_t)count * sizeof *query);
    attention->chunks.successive = successive;
    attention->chunks.distant = distant;
    rotary_status status = rotate(work, OF_OWN_CHUNK, positions, query, error);
    if (!status)
        status = rotate(work, OF_CHUNK_BEFORE, positions, successive, error);
    if (!status)
        status = rotate(work, OF_ALL_BEFORE, positions, distant, error);
    if (!status)
        status = rotate(work, OF_KEY, positions, work->key.tensor.values, error);
    free(positions);
    return status;
}
