/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/ngrams.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct ngrams *ngrams, int64_t count)
{
    if (count > ngrams->capacity) {
        free(ngrams->nodes);
        ngrams->nodes = malloc((size_t)count * sizeof *ngrams->nodes);
        ngrams->capacity = ngrams->nodes ? count : 0;
    }
    return ngrams->nodes && rotary_hash_table_empty(&ngrams->edges, count);
}

rotary_status ngrams_begin(struct ngrams *ngrams, int64_t count, rotary_error *error)
{
    if (count >= INT32_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a segment and its references have %lld n-grams, wanted fewer than %d",
                           (long long)count, INT32_MAX);
    if (!make_room(ngrams, count + 1))
        return rotary_fail_memory(error, "for %lld n-grams", (long long)count);
    ngrams->nodes[NGRAMS_ROOT] = (struct ngram){0};
    ngrams->count = 1;
    return ROTARY_OK;
}

int32_t ngrams_next(struct ngrams *ngrams, int32_t prefix, uint32_t symbol)
{
    const uint32_t key = hash_table_key((uint64_t)(uint32_t)prefix << 32 | symbol);
    struct hash_slot *slot = hash_table_find(&ngrams->edges, key);
    for (; slot->value >= 0; slot = hash_table_next(&ngrams->edges, slot))
        if (ngrams->nodes[slot->value].prefix == prefix && ngrams->nodes[slot->value].symbol == symbol)
            return slot->value;
    const int32_t made = (int32_t)ngrams->count++;
    *slot = (struct hash_slot){key, made};
    ngrams->nodes[made] =
        (struct ngram){.prefix = prefix, .symbol = symbol, .length = ngrams->nodes[prefix].length + 1};
    return made;
}

uint32_t ngrams_text(struct ngrams *ngrams, const uint32_t *symbols, int64_t count)
{
    int32_t node = NGRAMS_ROOT;
    for (int64_t i = 0; i < count; i++)
        node = ngrams_next(ngrams, node, symbols[i]);
    return (uint32_t)node;
}

void ngrams_count(struct ngrams *ngrams, const uint32_t *symbols, int64_t count, int order,
                  enum ngram_side side)
{
    for (int64_t i = 0; i < count; i++) {
        int32_t node = NGRAMS_ROOT;
        for (int64_t j = i; j < count && j < i + order; j++) {
            node = ngrams_next(ngrams, node, symbols[j]);
            struct ngram *ngram = &ngrams->nodes[node];
            (*(side == NGRAMS_HYPOTHESIS ? &ngram->hypothesis : &ngram->reference))++;
        }
    }
}

void ngrams_free(struct ngrams *ngrams)
{
    free(ngrams->nodes);
    rotary_hash_table_free(&ngrams->edges);
    *ngrams = (struct ngrams){0};
}
