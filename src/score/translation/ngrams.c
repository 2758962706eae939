/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/ngrams.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1 << 10 };

/* Room for `count` nodes and at least twice as many slots, not yet emptied. */
static bool make_room(struct ngrams *ngrams, int64_t count)
{
    int64_t slots = FIRST_SLOTS;
    while (slots < 2 * count)
        slots *= 2;
    ngrams->slot_count = slots;
    if (count > ngrams->capacity) {
        free(ngrams->nodes);
        ngrams->nodes = malloc((size_t)count * sizeof *ngrams->nodes);
        ngrams->capacity = ngrams->nodes ? count : 0;
    }
    if (slots > ngrams->slot_capacity) {
        free(ngrams->slots);
        ngrams->slots = malloc((size_t)slots * sizeof *ngrams->slots);
        ngrams->slot_capacity = ngrams->slots ? slots : 0;
    }
    return ngrams->nodes && ngrams->slots;
}

rotary_status ngrams_begin(struct ngrams *ngrams, int64_t count, rotary_error *error)
{
    if (count >= INT32_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a segment and its references have %lld n-grams, wanted fewer than %d",
                           (long long)count, INT32_MAX);
    if (!make_room(ngrams, count + 1))
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld n-grams", (long long)count);
    memset(ngrams->slots, 0, (size_t)ngrams->slot_count * sizeof *ngrams->slots);
    ngrams->nodes[NGRAMS_ROOT] = (struct ngram){0};
    ngrams->count = 1;
    return ROTARY_OK;
}

int32_t ngrams_next(struct ngrams *ngrams, int32_t prefix, uint32_t symbol)
{
    uint64_t hash = ((uint64_t)(uint32_t)prefix << 32 | symbol) * 0x9e3779b97f4a7c15u;
    uint64_t mask = (uint64_t)ngrams->slot_count - 1;
    uint64_t slot = (hash ^ hash >> 32) & mask;
    for (int32_t node; (node = ngrams->slots[slot]) != 0; slot = (slot + 1) & mask)
        if (ngrams->nodes[node].prefix == prefix && ngrams->nodes[node].symbol == symbol)
            return node;
    int32_t made = (int32_t)ngrams->count++;
    ngrams->slots[slot] = made;
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
    free(ngrams->slots);
    *ngrams = (struct ngrams){0};
}
