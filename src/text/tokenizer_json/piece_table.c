/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/piece_table.h"

#include <stdlib.h>
#include <string.h>

bool piece_table_create(struct piece_table *table, int64_t count, int64_t bytes)
{
    *table = (struct piece_table){.pool = malloc((size_t)bytes + 1),
                                  .starts = malloc(((size_t)count + 1) * sizeof *table->starts),
                                  .bytes = calloc((size_t)count + 1, sizeof *table->bytes),
                                  .count = count,
                                  .capacity = bytes};
    if (!table->pool || !table->starts || !table->bytes || !rotary_hash_table_empty(&table->tokens, count)) {
        piece_table_free(table);
        return false;
    }
    memset(table->starts, 0xff, ((size_t)count + 1) * sizeof *table->starts);
    return true;
}

void piece_table_free(struct piece_table *table)
{
    free(table->pool);
    free(table->starts);
    free(table->bytes);
    rotary_hash_table_free(&table->tokens);
    *table = (struct piece_table){0};
}

/* Eight bytes at a time: words are looked up for each word of a text. */
static uint32_t key_of(const char *piece, int64_t bytes)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (uint64_t)bytes * factor;
    for (int64_t i = 0; i < bytes; i += 8) {
        uint64_t part = 0;
        memcpy(&part, piece + i, (size_t)(bytes - i < 8 ? bytes - i : 8));
        hash = (hash ^ part) * factor;
        hash ^= hash >> 32;
    }
    return hash_table_key(hash);
}

static bool is_piece(const struct piece_table *table, int32_t token, const char *piece, int64_t bytes)
{
    return table->bytes[token] == bytes &&
           memcmp(table->pool + table->starts[token], piece, (size_t)bytes) == 0;
}

/* The slot of a piece whose key is given, or the free one in which it belongs. */
static struct hash_slot *find_slot(const struct piece_table *table, uint32_t key, const char *piece,
                                   int64_t bytes)
{
    struct hash_slot *slot = hash_table_find(&table->tokens, key);
    while (slot->value >= 0 && !is_piece(table, slot->value, piece, bytes))
        slot = hash_table_next(&table->tokens, slot);
    return slot;
}

bool piece_table_add(struct piece_table *table, int32_t token, const char *piece, int64_t bytes)
{
    const uint32_t key = key_of(piece, bytes);
    struct hash_slot *slot = find_slot(table, key, piece, bytes);
    if (slot->value >= 0 || table->starts[token] >= 0 || bytes > table->capacity - table->used)
        return false;
    table->starts[token] = (int32_t)table->used;
    table->bytes[token] = (int32_t)bytes;
    memcpy(table->pool + table->used, piece, (size_t)bytes);
    table->used += bytes;
    *slot = (struct hash_slot){key, token};
    return true;
}

int32_t piece_table_find(const struct piece_table *table, const char *piece, int64_t bytes)
{
    return find_slot(table, key_of(piece, bytes), piece, bytes)->value;
}

struct token_text piece_table_text(const struct piece_table *table, int32_t token)
{
    int32_t begin = table->starts[token];
    return (struct token_text){begin < 0 ? NULL : table->pool + begin, table->bytes[token]};
}
