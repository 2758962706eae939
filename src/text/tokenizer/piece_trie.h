/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of words of a vocabulary in a trie of bytes, which finds the longest piece that a text begins
 * with in one pass. Pieces that begin a word and pieces that continue one have a root each.
 */
#ifndef ROTARY_TEXT_TOKENIZER_PIECE_TRIE_H
#define ROTARY_TEXT_TOKENIZER_PIECE_TRIE_H

#include "base/hash_table.h"

enum piece_place { PIECE_FIRST, PIECE_CONTINUING, PIECE_PLACES }; /* the roots */

/* Most steps that lead nowhere are told by the bits of the bytes that lead on (piece_trie_bit). */
struct piece_node {
    int32_t token; /* -1: none */
    uint32_t children;
};

struct piece_trie {
    struct hash_table children; /* of all nodes, by the number of their parent and the byte */
    struct piece_node *nodes;
    int64_t count; /* of nodes */
};

/* The pieces have at most so many bytes in all, since a key has its node in 24 bits. */
enum { PIECE_TRIE_MAX_BYTES = (1 << 24) - PIECE_PLACES };

/* Allocates an empty trie for pieces of `bytes` bytes in all. False without memory. */
bool piece_trie_create(struct piece_trie *trie, int64_t bytes);
void piece_trie_free(struct piece_trie *trie); /* a zeroed one too */

/* Adds a piece of at least one byte; one that is there already gets the new token. */
void piece_trie_add(struct piece_trie *trie, enum piece_place place, const char *piece, int64_t bytes,
                    int32_t token);
/* The key of the node that a byte leads to. */
static inline uint32_t piece_trie_key(int32_t parent, char byte)
{
    return (uint32_t)parent << 8 | (unsigned char)byte;
}
/* A letter's is its own, but for case. */
static inline uint32_t piece_trie_bit(char byte)
{
    return UINT32_C(1) << (byte & 31);
}
/* The node that a byte leads to from another, of which a root is the first; -1: it leads to none. */
static inline int32_t piece_trie_step(const struct piece_trie *trie, int32_t node, char byte)
{
    if (!(trie->nodes[node].children & piece_trie_bit(byte)))
        return -1;
    return hash_table_find(&trie->children, piece_trie_key(node, byte))->value;
}
/* The token of the longest piece that the text begins with, and the piece's bytes; -1: there is none. */
int32_t piece_trie_longest(const struct piece_trie *trie, enum piece_place place, const char *text,
                           int64_t bytes, int64_t *length);

#endif
