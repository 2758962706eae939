/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/piece_trie.h"

#include <stdlib.h>
#include <string.h>

/* A node is reached from its parent by a byte. No node has the root PIECE_FIRST, 0, as its child, so that a
 * slot of zeros is free. */
struct piece_slot {
    uint32_t key; /* parent << 8 | byte */
    int32_t node;
};

bool piece_trie_create(struct piece_trie *trie, int64_t bytes)
{
    int64_t nodes = bytes + PIECE_PLACES, slots = 16;
    while (slots < 2 * nodes)
        slots *= 2;
    *trie = (struct piece_trie){.slots = calloc((size_t)slots, sizeof *trie->slots),
                                .tokens = malloc((size_t)nodes * sizeof *trie->tokens),
                                .slot_count = slots,
                                .nodes = PIECE_PLACES};
    if (!trie->slots || !trie->tokens) {
        piece_trie_free(trie);
        return false;
    }
    memset(trie->tokens, 0xff, (size_t)nodes * sizeof *trie->tokens);
    return true;
}

void piece_trie_free(struct piece_trie *trie)
{
    free(trie->slots);
    free(trie->tokens);
    *trie = (struct piece_trie){0};
}

/* The slot of a child, or the free one in which it belongs. */
static struct piece_slot *find_child(const struct piece_trie *trie, int32_t parent, char byte)
{
    uint32_t key = (uint32_t)parent << 8 | (unsigned char)byte;
    uint64_t mask = (uint64_t)trie->slot_count - 1;
    /* Multiplicative hashing (Knuth): the high half of the product depends on all bits of the key. */
    uint64_t slot = key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & mask;
    while (trie->slots[slot].node != 0 && trie->slots[slot].key != key)
        slot = (slot + 1) & mask;
    return &trie->slots[slot];
}

void piece_trie_add(struct piece_trie *trie, enum piece_place place, const char *piece, int64_t bytes,
                    int32_t token)
{
    int32_t node = (int32_t)place;
    for (int64_t i = 0; i < bytes; i++) {
        struct piece_slot *child = find_child(trie, node, piece[i]);
        if (child->node == 0)
            *child = (struct piece_slot){.key = (uint32_t)node << 8 | (unsigned char)piece[i],
                                         .node = (int32_t)trie->nodes++};
        node = child->node;
    }
    trie->tokens[node] = token;
}

int32_t piece_trie_step(const struct piece_trie *trie, int32_t node, char byte)
{
    return find_child(trie, node, byte)->node;
}

int32_t piece_trie_longest(const struct piece_trie *trie, enum piece_place place, const char *text,
                           int64_t bytes, int64_t *length)
{
    int32_t node = (int32_t)place, found = -1;
    for (int64_t i = 0; i < bytes; i++) {
        node = find_child(trie, node, text[i])->node;
        if (node == 0)
            break;
        if (trie->tokens[node] >= 0) {
            found = trie->tokens[node];
            *length = i + 1;
        }
    }
    return found;
}
