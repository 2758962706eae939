/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_SLOTS = 16 };

/* At least twice as many slots as keys. */
static int64_t slots_for(int64_t count)
{
    int64_t slots = MIN_SLOTS;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

bool rotary_hash_table_empty(struct hash_table *table, int64_t count)
{
    const int64_t slots = slots_for(count);
    if (slots > table->capacity) {
        rotary_hash_table_free(table);
        table->slots = malloc((size_t)slots * sizeof *table->slots);
        if (!table->slots)
            return false;
        table->capacity = slots;
    }
    table->slot_count = slots;
    memset(table->slots, 0xff, (size_t)slots * sizeof *table->slots);
    return true;
}

bool rotary_hash_table_grow(struct hash_table *table, int64_t count)
{
    struct hash_table grown = {0};
    if (table->slots && slots_for(count) <= table->slot_count)
        return true;
    if (!rotary_hash_table_empty(&grown, count))
        return false;
    for (int64_t i = 0; i < table->slot_count; i++) {
        if (table->slots[i].value < 0)
            continue;
        struct hash_slot *slot = hash_table_find(&grown, table->slots[i].key);
        while (slot->value >= 0)
            slot = hash_table_next(&grown, slot);
        *slot = table->slots[i];
    }
    rotary_hash_table_free(table);
    *table = grown;
    return true;
}

void rotary_hash_table_free(struct hash_table *table)
{
    free(table->slots);
    *table = (struct hash_table){0};
}
