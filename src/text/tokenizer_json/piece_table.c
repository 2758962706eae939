/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/piece_table.h"

#include <stdlib.h>
#include <string.h>

bool piece_table_create(struct piece_table *table, int64_t count, int64_t bytes)
{
    int64_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    *table = (struct piece_table){.pool = malloc((size_t)bytes + 1),
                                  .starts = malloc(((size_t)count + 1) * sizeof *table->starts),
                                  .bytes = calloc((size_t)count + 1, sizeof *table->bytes),
                                  .slots = malloc((size_t)slots * sizeof *table->slots),
                                  .count = count,
                                  .capacity = bytes,
                                  .slot_count = slots};
    if (!table->pool || !table->starts || !table->bytes || !table->slots) {
        piece_table_free(table);
        return false;
    }
    memset(table->starts, 0xff, ((size_t)count + 1) * sizeof *table->starts);
    memset(table->slots, 0xff, (size_t)slots * sizeof *table->slots);
    return true;
}

void piece_table_free(struct piece_table *table)
{
    free(table->pool);
    free(table->starts);
    free(table->bytes);
    free(table->slots);
    *table = (struct piece_table){0};
}

/* Eight bytes at a time: words are looked up for each word of a text. */
static uint64_t hash_of(const char *piece, int64_t bytes)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (uint64_t)bytes * factor;
    for (int64_t i = 0; i < bytes; i += 8) {
        uint64_t part = 0;
        memcpy(&part, piece + i, (size_t)(bytes - i < 8 ? bytes - i : 8));
        hash = (hash ^ part) * factor;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The slot of a piece, or the free one in which it belongs. */
static int32_t *find_slot(const struct piece_table *table, const char *piece, int64_t bytes)
{
    uint64_t mask = (uint64_t)table->slot_count - 1;
    for (uint64_t slot = hash_of(piece, bytes) & mask;; slot = (slot + 1) & mask) {
        int32_t token = table->slots[slot];
        if (token < 0 || (table->bytes[token] == bytes &&
                          memcmp(table->pool + table->starts[token], piece, (size_t)bytes) == 0))
            return &table->slots[slot];
    }
}

bool piece_table_add(struct piece_table *table, int32_t token, const char *piece, int64_t bytes)
{
    int32_t *slot = find_slot(table, piece, bytes);
    if (*slot >= 0 || table->starts[token] >= 0 || bytes > table->capacity - table->used)
        return false;
    table->starts[token] = (int32_t)table->used;
    table->bytes[token] = (int32_t)bytes;
    memcpy(table->pool + table->used, piece, (size_t)bytes);
    table->used += bytes;
    *slot = token;
    return true;
}

int32_t piece_table_find(const struct piece_table *table, const char *piece, int64_t bytes)
{
    return *find_slot(table, piece, bytes);
}

struct token_text piece_table_text(const struct piece_table *table, int32_t token)
{
    int32_t begin = table->starts[token];
    return (struct token_text){begin < 0 ? NULL : table->pool + begin, table->bytes[token]};
}
