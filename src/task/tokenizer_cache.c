/* SPDX-License-Identifier: Apache-2.0 */
#include "task/tokenizer_cache.h"

#include "base/fail.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A model and what it was trained from. */
struct cached_tokenizer {
    struct sentencepiece_config config;
    int64_t lines;
    uint64_t hash; /* of the lines */
    struct tokenizer *tokenizer;
    struct cached_tokenizer *next;
};

struct tokenizer_cache {
    pthread_mutex_t lock;
    struct cached_tokenizer *first;
};

rotary_status tokenizer_cache_create(struct tokenizer_cache **cache, rotary_error *error)
{
    struct tokenizer_cache *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a list of vocabularies");
    pthread_mutex_init(&made->lock, NULL);
    *cache = made;
    return ROTARY_OK;
}

void tokenizer_cache_destroy(struct tokenizer_cache *cache)
{
    if (!cache)
        return;
    while (cache->first) {
        struct cached_tokenizer *first = cache->first;
        cache->first = first->next;
        tokenizer_destroy(first->tokenizer);
        free(first);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static uint64_t hash_lines(const struct text_line *lines, int64_t count)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t both[] = {hash, rotary_hash(lines[i].bytes, (uint64_t)lines[i].count)};
        hash = rotary_hash(both, sizeof both);
    }
    return hash;
}

static bool is_same_config(const struct sentencepiece_config *a, const struct sentencepiece_config *b)
{
    return a->model == b->model && a->vocabulary_size == b->vocabulary_size &&
           a->character_coverage == b->character_coverage && a->byte_fallback == b->byte_fallback &&
           a->max_line_bytes == b->max_line_bytes && a->mask == b->mask &&
           memcmp(&a->special, &b->special, sizeof a->special) == 0;
}

/* Adds what it trains. The lock is held. */
static rotary_status train(struct tokenizer_cache *cache, const struct cached_tokenizer *wanted,
                           const struct text_line *lines, rotary_error *error)
{
    struct cached_tokenizer *made = malloc(sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a vocabulary");
    *made = *wanted;
    rotary_status status =
        sentencepiece_train(&made->tokenizer, &made->config, lines, made->lines, NULL, error);
    if (status != ROTARY_OK) {
        free(made);
        return status;
    }
    made->next = cache->first;
    cache->first = made;
    return ROTARY_OK;
}

rotary_status tokenizer_cache_train(struct tokenizer_cache *cache, struct tokenizer **tokenizer,
                                    const struct sentencepiece_config *config, const struct text_line *lines,
                                    int64_t count, rotary_error *error)
{
    const struct cached_tokenizer wanted = {
        .config = *config, .lines = count, .hash = hash_lines(lines, count)};
    rotary_status status = ROTARY_OK;
    pthread_mutex_lock(&cache->lock);
    const struct cached_tokenizer *found = cache->first;
    while (found && !(found->hash == wanted.hash && found->lines == wanted.lines &&
                      is_same_config(&found->config, config)))
        found = found->next;
    if (!found)
        status = train(cache, &wanted, lines, error);
    if (status == ROTARY_OK)
        *tokenizer = (found ? found : cache->first)->tokenizer;
    pthread_mutex_unlock(&cache->lock);
    return status;
}
