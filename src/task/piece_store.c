/* SPDX-License-Identifier: Apache-2.0 */
#include "task/piece_store.h"

#include "base/fail.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A model and what it was trained from. */
struct trained_pieces {
    struct sentencepiece_config config;
    int64_t lines;
    uint64_t hash; /* of the lines */
    struct tokenizer *tokenizer;
    struct trained_pieces *next;
};

struct piece_store {
    pthread_mutex_t lock;
    struct trained_pieces *first;
};

rotary_status piece_store_create(struct piece_store **store, rotary_error *error)
{
    struct piece_store *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a list of vocabularies");
    pthread_mutex_init(&made->lock, NULL);
    *store = made;
    return ROTARY_OK;
}

void piece_store_destroy(struct piece_store *store)
{
    if (!store)
        return;
    while (store->first) {
        struct trained_pieces *first = store->first;
        store->first = first->next;
        tokenizer_destroy(first->tokenizer);
        free(first);
    }
    pthread_mutex_destroy(&store->lock);
    free(store);
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
static rotary_status train(struct piece_store *store, const struct trained_pieces *wanted,
                           const struct text_line *lines, rotary_error *error)
{
    struct trained_pieces *made = malloc(sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a vocabulary");
    *made = *wanted;
    rotary_status status =
        sentencepiece_train(&made->tokenizer, &made->config, lines, made->lines, NULL, error);
    if (status != ROTARY_OK) {
        free(made);
        return status;
    }
    made->next = store->first;
    store->first = made;
    return ROTARY_OK;
}

rotary_status piece_store_train(struct piece_store *store, struct tokenizer **tokenizer,
                                const struct sentencepiece_config *config, const struct text_line *lines,
                                int64_t count, rotary_error *error)
{
    const struct trained_pieces wanted = {
        .config = *config, .lines = count, .hash = hash_lines(lines, count)};
    rotary_status status = ROTARY_OK;
    pthread_mutex_lock(&store->lock);
    const struct trained_pieces *found = store->first;
    while (found && !(found->hash == wanted.hash && found->lines == wanted.lines &&
                      is_same_config(&found->config, config)))
        found = found->next;
    if (!found)
        status = train(store, &wanted, lines, error);
    if (status == ROTARY_OK)
        *tokenizer = (found ? found : store->first)->tokenizer;
    pthread_mutex_unlock(&store->lock);
    return status;
}
