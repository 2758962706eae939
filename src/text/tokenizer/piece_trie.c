/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/piece_trie.h"

#include <stdlib.h>

bool piece_trie_create(struct piece_trie *trie, int64_t bytes)
{
    const int64_t nodes = bytes + PIECE_PLACES;
    *trie = (struct piece_trie){.nodes = malloc((size_t)nodes * sizeof *trie->nodes), .count = PIECE_PLACES};
    if (!trie->nodes || !rotary_hash_table_empty(&trie->children, nodes)) {
        piece_trie_free(trie);
        return false;
    }
    for (int64_t i = 0; i < nodes; i++)
        trie->nodes[i] = (struct piece_node){.token = -1};
    return true;
}

void piece_trie_free(struct piece_trie *trie)
{
    rotary_hash_table_free(&trie->children);
    free(trie->nodes);
    *trie = (struct piece_trie){0};
}

void piece_trie_add(struct piece_trie *trie, enum piece_place place, const char *piece, int64_t bytes,
                    int32_t token)
{
    int32_t node = (int32_t)place;
    for (int64_t i = 0; i < bytes; i++) {
        const uint32_t key = piece_trie_key(node, piece[i]);
        struct hash_slot *child = hash_table_find(&trie->children, key);
        if (child->value < 0)
            *child = (struct hash_slot){key, (int32_t)trie->count++};
        trie->nodes[node].children |= piece_trie_bit(piece[i]);
        node = child->value;
    }
    trie->nodes[node].token = token;
}

int32_t piece_trie_longest(const struct piece_trie *trie, enum piece_place place, const char *text,
                           int64_t bytes, int64_t *length)
{
    int32_t node = (int32_t)place, found = -1;
    for (int64_t i = 0; i < bytes; i++) {
        node = piece_trie_step(trie, node, text[i]);
        if (node < 0)
            break;
        if (trie->nodes[node].token >= 0) {
            found = trie->nodes[node].token;
            *length = i + 1;
        }
    }
    return found;
}
