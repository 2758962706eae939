/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table from keys of 32 bits to values of 0 and above, which are mostly places in an array of the caller. A
 * key that holds all that is looked up is found by one call. A key that is the hash of something longer, of a
 * text or a pair of tokens, may stand in several slots: the caller compares what their values mean.
 *
 *     struct hash_slot *slot = hash_table_find(&table, hash_table_key(rotary_hash(text, bytes)));
 *     while (slot->value >= 0 && !is_text(slot->value, text, bytes))
 *         slot = hash_table_next(&table, slot);
 *
 * To add what was not found, write its key and value into the free slot that was found. The table does not
 * count: the caller makes room before. Nothing is removed, but by emptying the table.
 */
#ifndef ROTARY_BASE_HASH_TABLE_H
#define ROTARY_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HASH_TABLE_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct hash_slot {
    uint32_t key;
    int32_t value; /* -1: the slot is free */
};

struct hash_table {
    struct hash_slot *slots; /* slot_count of them in use, a power of two; NULL: no room yet */
    int64_t slot_count, capacity;
};

/* Empties the table, which may be all zero, and makes room for `count` keys. False without memory: it has
 * then no room. */
bool rotary_hash_table_empty(struct hash_table *table, int64_t count);
/* Makes room for `count` keys and keeps those that it has, in other slots. False without memory: it stays as it
 * was. */
bool rotary_hash_table_grow(struct hash_table *table, int64_t count);
void rotary_hash_table_free(struct hash_table *table); /* a zeroed one too */

/* A key that depends on all bits of a longer one. */
static inline uint32_t hash_table_key(uint64_t key)
{
    return (uint32_t)(key * HASH_TABLE_FACTOR >> 32);
}

/* Slots are searched one after another; at least half of them are free. */
static inline struct hash_slot *hash_table_search(const struct hash_table *table, uint64_t at, uint32_t key)
{
    const uint64_t mask = (uint64_t)table->slot_count - 1;
    at &= mask;
    while (table->slots[at].value >= 0 && table->slots[at].key != key)
        at = (at + 1) & mask;
    return &table->slots[at];
}

/* The first slot with the key, or the free slot in which it belongs. */
static inline struct hash_slot *hash_table_find(const struct hash_table *table, uint32_t key)
{
    /* Multiplicative hashing (Knuth): the high half of the product depends on all bits of the key. */
    return hash_table_search(table, key * HASH_TABLE_FACTOR >> 32, key);
}

/* The next slot with the same key as the one that was found, or the free slot in which another belongs. */
static inline struct hash_slot *hash_table_next(const struct hash_table *table, const struct hash_slot *slot)
{
    return hash_table_search(table, (uint64_t)(slot - table->slots) + 1, slot->key);
}

#endif
