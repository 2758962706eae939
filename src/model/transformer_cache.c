/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding with a KV cache, for a fixed number of sequences of a fixed capacity. Sequences may advance by
 * different numbers of tokens: only real tokens are rows of the pass.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "model/transformer_parts.h"

#include <stdlib.h>
#include <string.h>

/* The maximum of new tokens per sequence and call. */
static int64_t max_count(const struct transformer *transformer, int64_t batch)
{
    return transformer_rows(transformer->limits) / batch;
}

static void carve(struct transformer_cache *cache, const struct transformer *transformer)
{
    stack_cache_carve(&cache->stack, transformer->main.stack, &cache->arena);
    int64_t width = transformer->config.hidden_size;
    rotary_dtype storage = transformer->backend->storage;
    void *last = rotary_arena_push(&cache->arena, cache->shape.batch * width, rotary_dtype_size(storage));
    cache->last = matrix_of(last, storage, cache->shape.batch, width);
    int64_t rows = cache->shape.batch * max_count(transformer, cache->shape.batch);
    cache->tokens = rotary_arena_push(&cache->arena, rows, sizeof *cache->tokens);
    cache->positions = rotary_arena_push(&cache->arena, rows, sizeof *cache->positions);
    struct rotary_arena *host = &cache->host_arena;
    cache->lengths = rotary_arena_push(host, cache->shape.batch, sizeof *cache->lengths);
    cache->counts = rotary_arena_push(host, cache->shape.batch, sizeof *cache->counts);
    cache->ends = rotary_arena_push(host, cache->shape.batch, sizeof *cache->ends);
    cache->source = rotary_arena_push(host, cache->shape.batch, sizeof *cache->source);
    cache->old_lengths = rotary_arena_push(host, cache->shape.batch, sizeof *cache->old_lengths);
    cache->host_tokens = rotary_arena_push(host, rows, sizeof *cache->host_tokens);
    cache->host_positions = rotary_arena_push(host, rows, sizeof *cache->host_positions);
}

static rotary_status check_shape(const struct transformer *transformer,
                                 const struct transformer_cache_shape *shape, rotary_error *error)
{
    int64_t rows = transformer_rows(transformer->limits), most = transformer->limits.source_time;
    if (transformer->config.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the model is an encoder, which generates no tokens: wanted a decoder or an "
                           "encoder-decoder");
    if (shape->batch < 1 || shape->batch > rows || shape->capacity < 1)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a KV cache for %lld sequences of %lld tokens: the model decodes 1 to %lld sequences at once, of "
            "at least 1 token",
            (long long)shape->batch, (long long)shape->capacity, (long long)rows);
    if (shape->source_time < (most > 0 ? 1 : 0) || shape->source_time > most)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a KV cache for sources of %lld tokens: the encoder reads %s %lld",
                           (long long)shape->source_time, most > 0 ? "1 to" : "none,", (long long)most);
    return ROTARY_OK;
}

rotary_status transformer_cache_create(struct transformer_cache **cache,
                                       const struct transformer *transformer,
                                       const struct transformer_cache_shape *shape, rotary_error *error)
{
    rotary_status status = check_shape(transformer, shape, error);
    if (status != ROTARY_OK)
        return status;
    struct transformer_cache *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a KV cache");
    made->shape = *shape;
    made->shape.beams = shape->beams == 0 ? 1 : shape->beams;
    made->backend = transformer->backend;
    const struct sublayer_cache_shape sublayers = {.batch = shape->batch,
                                                   .capacity = shape->capacity,
                                                   .beams = made->shape.beams,
                                                   .count = max_count(transformer, shape->batch),
                                                   .source_time = shape->source_time};
    status = stack_cache_create(&made->stack, transformer->main.stack, sublayers, error);
    if (status == ROTARY_OK) {
        carve(made, transformer);
        status = backend_arena_allocate(made->backend, &made->arena, "the KV cache", error);
        if (status == ROTARY_OK)
            status = rotary_arena_allocate(&made->host_arena, "the KV cache", error);
    }
    if (status != ROTARY_OK) {
        transformer_cache_destroy(made);
        return status;
    }
    carve(made, transformer);
    *cache = made;
    return ROTARY_OK;
}

void transformer_cache_destroy(struct transformer_cache *cache)
{
    if (!cache)
        return;
    stack_cache_destroy(&cache->stack);
    backend_arena_free(cache->backend, &cache->arena);
    rotary_arena_free(&cache->host_arena);
    free(cache);
}

int64_t transformer_cache_length(const struct transformer_cache *cache, int64_t sequence)
{
    return cache->lengths[sequence];
}

rotary_status transformer_cache_source(struct transformer *transformer, struct transformer_cache *cache,
                                       const struct token_sequences *given, rotary_error *error)
{
    rotary_status status = transformer_check_sources(transformer, given, error);
    if (status != ROTARY_OK)
        return status;
    struct embedded_stack *encoder = &transformer->encoder;
    struct token_sequences placed = *given;
    const struct token_sequences *sources = &placed;
    transformer_place(transformer, encoder, NULL, &placed);
    const struct stack_call call = embedded_stack_call(sources);
    cache->sources = 0;
    status = embedded_stack_forward(encoder, &transformer->parameters, sources, &call, error);
    if (status != ROTARY_OK)
        return status;
    const struct sublayer_source source = transformer_source(transformer, sources);
    status =
        stack_cache_source(transformer->main.stack, &transformer->parameters, &cache->stack, &source, error);
    if (status != ROTARY_OK)
        return status;
    cache->sources = sources->batch;
    memset(cache->lengths, 0, (size_t)cache->shape.batch * sizeof *cache->lengths);
    return ROTARY_OK;
}

rotary_status transformer_cache_reorder(struct transformer *transformer, struct transformer_cache *cache,
                                        const int32_t *source, rotary_error *error)
{
    rotary_status status =
        stack_cache_reorder(transformer->main.stack, &cache->stack, cache->lengths, source, error);
    if (status != ROTARY_OK)
        return status;
    memcpy(cache->old_lengths, cache->lengths, (size_t)cache->shape.batch * sizeof *cache->lengths);
    for (int64_t b = 0; b < cache->shape.batch; b++)
        cache->lengths[b] = cache->old_lengths[source[b]];
    return ROTARY_OK;
}

static rotary_status check_count(const struct transformer *transformer, const struct transformer_cache *cache,
                                 const struct transformer_decode_call *call, int64_t b, rotary_error *error)
{
    int64_t count = cache->counts[b], length = cache->lengths[b];
    if (count < 0 || count > call->time)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld new tokens in sequence %lld: wanted 0 to time, %lld", (long long)count,
                           (long long)b, (long long)call->time);
    if (length + count > cache->shape.capacity)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%lld new tokens after %lld: the cache holds %lld",
                           (long long)count, (long long)length, (long long)cache->shape.capacity);
    rotary_status status = transformer_check_last(transformer, length + count - 1, error);
    if (status != ROTARY_OK)
        return status;
    return transformer_check_tokens(&transformer->main, call->tokens + b * call->time, count, error);
}

/* Copies the real tokens of the call and adds their number to *rows. */
static rotary_status read_call(const struct transformer *transformer, struct transformer_cache *cache,
                               const struct transformer_decode_call *call, int64_t *rows, rotary_error *error)
{
    if (call->time < 1 || call->time > max_count(transformer, cache->shape.batch))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld new tokens in each of %lld sequences: the model decodes 1 to %lld at once",
                           (long long)call->time, (long long)cache->shape.batch,
                           (long long)max_count(transformer, cache->shape.batch));
    if (call->batch < 1 || call->batch > cache->shape.batch)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a call of %lld sequences of a cache of %lld: wanted 1 to that many, or 0 for all",
                           (long long)call->batch, (long long)cache->shape.batch);
    int64_t beams = cache->shape.beams;
    if (transformer->encoder.stack && (call->batch % beams != 0 || call->batch > cache->sources * beams))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a call of %lld sequences: the cache has %lld sources of %lld sequences each, and "
                           "wanted all those of a source",
                           (long long)call->batch, (long long)cache->sources, (long long)beams);
    const int32_t *drawn = transformer->evaluation_positions;
    for (int64_t b = 0; b < call->batch; b++) {
        cache->counts[b] = call->counts ? call->counts[b] : call->time;
        rotary_status status = check_count(transformer, cache, call, b, error);
        if (status != ROTARY_OK)
            return status;
        memcpy(cache->host_tokens + *rows, call->tokens + b * call->time,
               (size_t)cache->counts[b] * sizeof *cache->tokens);
        for (int64_t t = 0; t < cache->counts[b]; t++) {
            int64_t token = cache->lengths[b] + t;
            cache->host_positions[*rows + t] = drawn ? drawn[token] : (int32_t)token;
        }
        *rows += cache->counts[b];
        cache->ends[b] = max_i64(*rows - 1, 0);
    }
    const struct backend_operations *operations = cache->backend->operations;
    size_t bytes = (size_t)*rows * sizeof *cache->tokens;
    rotary_status status = operations->write(cache->backend, cache->tokens, cache->host_tokens, bytes, error);
    if (status != ROTARY_OK)
        return status;
    return operations->write(cache->backend, cache->positions, cache->host_positions, bytes, error);
}

static rotary_status run(struct transformer *transformer, struct transformer_cache *cache, int64_t batch,
                         int64_t rows, rotary_error *error)
{
    const struct embedding_call embedding = {
        .batch = 1, .time = rows, .tokens = cache->tokens, .positions = cache->positions};
    struct embedded_stack *decoder = &transformer->main;
    rotary_status status = embedded_stack_update(decoder, &transformer->parameters, error);
    if (status == ROTARY_OK)
        status = embedded_stack_embed(decoder, &transformer->parameters, &embedding, error);
    if (status != ROTARY_OK)
        return status;
    const struct stack_decode_call call = {.batch = batch,
                                           .rows = rows,
                                           .counts = cache->counts,
                                           .lengths = cache->lengths,
                                           .positions = cache->host_positions,
                                           .cache = &cache->stack};
    return stack_decode(transformer->main.stack, &transformer->parameters, &call, error);
}

/* The last token of every sequence. With equally many new tokens it is every time-th row; else rows are
 * copied, and a sequence without new tokens gets the row before its place. */
static rotary_status last_rows(const struct transformer *transformer, const struct transformer_cache *cache,
                               int64_t batch, int64_t rows, struct matrix *last, rotary_error *error)
{
    struct matrix hidden = stack_output(transformer->main.stack, rows);
    int64_t count = cache->counts[0];
    bool equal = true;
    for (int64_t b = 1; b < batch; b++)
        equal = equal && cache->counts[b] == count;
    if (equal) {
        *last = matrix_rows(hidden, count - 1, batch);
        last->stride = count * hidden.stride;
        return ROTARY_OK;
    }
    *last = matrix_rows(cache->last, 0, batch);
    const struct backend_copy_rows call = {.out = *last, .in = hidden, .index = cache->ends};
    return transformer->backend->operations->copy_rows(transformer->backend, &call, error);
}

rotary_status transformer_decode(struct transformer *transformer, struct transformer_cache *cache,
                                 const struct transformer_decode_call *given, rotary_error *error)
{
    struct transformer_decode_call call = *given;
    if (call.batch == 0)
        call.batch = transformer->encoder.stack ? cache->sources * cache->shape.beams : cache->shape.batch;
    int64_t rows = 0;
    rotary_status status = read_call(transformer, cache, &call, &rows, error);
    if (status != ROTARY_OK || rows == 0)
        return status;
    status = run(transformer, cache, call.batch, rows, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t b = 0; b < call.batch; b++)
        cache->lengths[b] += cache->counts[b];
    if (!call.logits && !call.top_classes)
        return ROTARY_OK;
    struct matrix last;
    status = last_rows(transformer, cache, call.batch, rows, &last, error);
    if (status != ROTARY_OK)
        return status;
    if (call.top_classes)
        return loss_top_classes(transformer->loss, &transformer->parameters, last, call.top_classes, error);
    const struct loss_rows read = {.hidden = last};
    return loss_logits(transformer->loss, &transformer->parameters, &read, call.logits, error);
}

rotary_status transformer_cache_copy(struct transformer *transformer, struct transformer_cache *cache,
                                     int64_t to, int64_t from, rotary_error *error)
{
    int64_t last = cache->shape.batch - 1;
    if (to < 0 || to > last || from < 0 || from > last)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "sequence %lld of a cache as a copy of sequence %lld: wanted 0 to %lld",
                           (long long)to, (long long)from, (long long)last);
    for (int64_t b = 0; b <= last; b++)
        cache->source[b] = (int32_t)(b == to ? from : b);
    return transformer_cache_reorder(transformer, cache, cache->source, error);
}

rotary_status transformer_check_shift(const struct transformer *transformer, rotary_error *error)
{
    if (transformer->encoding.terms->embedding != EMBEDDING_POSITION_NONE)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "the model adds positions to its embedding, so cached tokens cannot move: wanted one "
            "whose positions are in its attention");
    if (transformer->evaluation_positions)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "the model has randomised positions, so cached tokens cannot move: wanted one whose "
            "positions follow one another");
    return ROTARY_OK;
}

rotary_status transformer_cache_shift(struct transformer *transformer, struct transformer_cache *cache,
                                      int64_t sequence, int64_t keep, int64_t discard, rotary_error *error)
{
    rotary_status status = transformer_check_shift(transformer, error);
    if (status != ROTARY_OK)
        return status;
    if (sequence < 0 || sequence >= cache->shape.batch)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "sequence %lld of a cache of %lld",
                           (long long)sequence, (long long)cache->shape.batch);
    const struct stack_shift_call call = {
        .sequence = sequence, .length = cache->lengths[sequence], .keep = keep, .discard = discard};
    if (keep < 0 || discard < 0 || keep > call.length || discard > call.length - keep)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%lld tokens after the first %lld of a sequence of %lld: wanted no more than it has",
            (long long)discard, (long long)keep, (long long)call.length);
    status = stack_cache_shift(transformer->main.stack, &cache->stack, &call, error);
    if (status == ROTARY_OK)
        cache->lengths[sequence] -= discard;
    return status;
}
