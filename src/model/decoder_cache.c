/* SPDX-License-Identifier: Apache-2.0
 *
 * The KV cache: keys and values of every layer, for a fixed number of sequences of a fixed capacity.
 */
#include "base/fail.h"
#include "model/decoder_parts.h"

#include <stdlib.h>

static void carve(struct decoder_cache *cache, const struct decoder *decoder)
{
    const struct decoder_config *config = &decoder->config;
    int64_t layers = config->num_hidden_layers;
    cache->keys = rotary_arena_push(&cache->arena, layers, cache->layer_bytes);
    cache->values = rotary_arena_push(&cache->arena, layers, cache->layer_bytes);
    cache->lengths = rotary_arena_push(&cache->arena, cache->batch, sizeof *cache->lengths);
    int64_t max_tokens = decoder_rows(decoder->limits) / cache->batch; /* per sequence and call */
    size_t workspace =
        rotary_attention_decode_bytes(decoder->position.attention, cache->batch, max_tokens, cache->capacity);
    cache->workspace = rotary_arena_push(&cache->arena, (int64_t)workspace, 1);
}

rotary_status decoder_cache_create(struct decoder_cache **cache, const struct decoder *decoder, int64_t batch,
                                   int64_t capacity, rotary_error *error)
{
    if (batch < 1 || batch > decoder_rows(decoder->limits) || capacity < 1)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a KV cache for %lld sequences of %lld tokens: the model decodes 1 to %lld sequences at once, of "
            "at least 1 token",
            (long long)batch, (long long)capacity, (long long)decoder_rows(decoder->limits));
    struct decoder_cache *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a KV cache");
    made->batch = batch;
    made->capacity = capacity;
    size_t row = (size_t)(decoder->config.num_key_value_heads * decoder->config.head_dim) *
                 rotary_dtype_size(decoder->backend->storage);
    if (__builtin_mul_overflow((size_t)capacity, row * (size_t)batch, &made->layer_bytes))
        made->layer_bytes = SIZE_MAX;
    made->layer_bytes = rotary_align(made->layer_bytes);
    carve(made, decoder);
    rotary_status status = rotary_arena_allocate(&made->arena, "the KV cache", error);
    if (status != ROTARY_OK) {
        decoder_cache_destroy(made);
        return status;
    }
    carve(made, decoder);
    *cache = made;
    return ROTARY_OK;
}

void decoder_cache_destroy(struct decoder_cache *cache)
{
    if (!cache)
        return;
    rotary_arena_free(&cache->arena);
    free(cache);
}

struct attention_layer_cache decoder_cache_layer(const struct decoder_cache *cache, int64_t layer)
{
    return (struct attention_layer_cache){.key = cache->keys + (size_t)layer * cache->layer_bytes,
                                          .value = cache->values + (size_t)layer * cache->layer_bytes,
                                          .capacity = cache->capacity,
                                          .lengths = cache->lengths};
}
