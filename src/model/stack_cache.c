/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of a stack: what its sublayers keep of the tokens so far, and of a source.
 */
#include "base/fail.h"
#include "model/stack_parts.h"

#include <stdlib.h>

rotary_status stack_cache_create(struct stack_cache *cache, const struct stack *stack,
                                 struct sublayer_cache_shape shape, rotary_error *error)
{
    *cache = (struct stack_cache){.shape = shape};
    if (shape.batch < 1 || shape.capacity < 1 || shape.beams < 1 || shape.batch % shape.beams != 0 ||
        shape.count < 1)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a cache of %lld sequences of %lld tokens, %lld per source, %lld at once: each must be "
            "at least 1, and sequences a multiple of those per source",
            (long long)shape.batch, (long long)shape.capacity, (long long)shape.beams,
            (long long)shape.count);
    cache->sublayers = calloc((size_t)stack->count, sizeof *cache->sublayers);
    cache->source_lengths = calloc((size_t)shape.batch, sizeof *cache->source_lengths);
    cache->old_source_lengths = calloc((size_t)shape.batch, sizeof *cache->old_source_lengths);
    cache->source_of_source = calloc((size_t)shape.batch, sizeof *cache->source_of_source);
    if (cache->sublayers && cache->source_lengths && cache->old_source_lengths && cache->source_of_source)
        return ROTARY_OK;
    stack_cache_destroy(cache);
    return rotary_fail_memory(error, "for the cache of %lld sublayers", (long long)stack->count);
}

void stack_cache_destroy(struct stack_cache *cache)
{
    free(cache->sublayers);
    free(cache->source_lengths);
    free(cache->old_source_lengths);
    free(cache->source_of_source);
    *cache = (struct stack_cache){0};
}

void stack_cache_carve(struct stack_cache *cache, const struct stack *stack, struct rotary_arena *arena)
{
    size_t workspace = 0;
    for (int64_t k = 0; k < stack->count; k++) {
        const struct sublayer *sublayer = stack->sublayers[k].sublayer;
        if (!sublayer->type->carve_cache)
            continue;
        cache->sublayers[k] = sublayer->type->carve_cache(sublayer, arena, cache->shape);
        size_t bytes = sublayer->type->cache_bytes(sublayer, cache->shape);
        workspace = bytes > workspace ? bytes : workspace;
    }
    cache->workspace = rotary_arena_push(arena, (int64_t)workspace, 1);
}

/* The tokens of sequence s. */
static int64_t length_of(const struct sublayer_source *source, int64_t s)
{
    return source->starts ? source->starts[s + 1] - source->starts[s] : source->time;
}

rotary_status stack_cache_source(struct stack *stack, const struct parameters *parameters,
                                 struct stack_cache *cache, const struct sublayer_source *source,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    int64_t most = cache->shape.batch / cache->shape.beams, sources = source->sequences;
    if (!source->starts)
        sources = source->time > 0 ? source->rows.rows / source->time : 0;
    bool whole =
        source->starts ? source->rows.rows == source->time : source->rows.rows == sources * source->time;
    if (sources < 1 || sources > most || !whole)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a source of %lld rows, %lld sequences of %lld: wanted 1 to %lld sequences, one for "
            "each %lld in the cache",
            (long long)source->rows.rows, (long long)sources, (long long)source->time, (long long)most,
            (long long)cache->shape.beams);
    for (int64_t s = 0; s < most; s++) {
        cache->source_lengths[s] = s < sources ? length_of(source, s) : 0;
        cache->old_source_lengths[s] = 0;
    }
    struct sublayer_cache_source_call call = {.source = *source,
                                              .sources = sources,
                                              .empty_lengths = cache->old_source_lengths,
                                              .workspace = cache->workspace};
    for (int64_t k = 0; status == ROTARY_OK && k < stack->count; k++) {
        struct sublayer *sublayer = stack->sublayers[k].sublayer;
        call.cache = cache->sublayers[k];
        if (sublayer->type->cache_source)
            status = sublayer->type->cache_source(sublayer, parameters, &call, error);
    }
    return status;
}

/* Fills source_of_source from what the sequences continue. */
static rotary_status trace_sources(struct stack_cache *cache, const int32_t *source, rotary_error *error)
{
    int64_t batch = cache->shape.batch, beams = cache->shape.beams;
    for (int64_t b = 0; b < batch; b++) {
        if (source[b] < 0 || source[b] >= batch)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "sequence %lld continues sequence %d: the cache has 0 ... %lld", (long long)b,
                               (int)source[b], (long long)batch - 1);
        int32_t of = (int32_t)(source[b] / beams);
        if (b % beams == 0)
            cache->source_of_source[b / beams] = of;
        if (cache->source_of_source[b / beams] != of)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "sequence %lld continues sequence %d, of source %d: those beside it continue "
                               "sequences of source %d",
                               (long long)b, (int)source[b], (int)of,
                               (int)cache->source_of_source[b / beams]);
    }
    return ROTARY_OK;
}

rotary_status stack_cache_reorder(struct stack *stack, struct stack_cache *cache, const int64_t *lengths,
                                  const int32_t *source, rotary_error *error)
{
    rotary_status status = trace_sources(cache, source, error);
    struct sublayer_reorder_call call = {.batch = cache->shape.batch,
                                         .beams = cache->shape.beams,
                                         .lengths = lengths,
                                         .source_lengths = cache->source_lengths,
                                         .source = source,
                                         .source_of_source = cache->source_of_source,
                                         .workspace = cache->workspace};
    for (int64_t k = 0; status == ROTARY_OK && k < stack->count; k++) {
        struct sublayer *sublayer = stack->sublayers[k].sublayer;
        call.cache = cache->sublayers[k];
        if (sublayer->type->reorder)
            status = sublayer->type->reorder(sublayer, &call, error);
    }
    int64_t sources = cache->shape.batch / cache->shape.beams;
    for (int64_t s = 0; status == ROTARY_OK && s < sources; s++)
        cache->old_source_lengths[s] = cache->source_lengths[s];
    for (int64_t s = 0; status == ROTARY_OK && s < sources; s++)
        cache->source_lengths[s] = cache->old_source_lengths[cache->source_of_source[s]];
    return status;
}

rotary_status stack_cache_shift(struct stack *stack, struct stack_cache *cache,
                                const struct stack_shift_call *call, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    struct sublayer_shift_call shift = {
        .sequence = call->sequence, .length = call->length, .keep = call->keep, .discard = call->discard};
    for (int64_t k = 0; status == ROTARY_OK && k < stack->count; k++) {
        struct sublayer *sublayer = stack->sublayers[k].sublayer;
        shift.cache = cache->sublayers[k];
        if (sublayer->type->shift)
            status = sublayer->type->shift(sublayer, &shift, error);
    }
    return status;
}
