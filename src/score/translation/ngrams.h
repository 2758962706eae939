/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences of symbols and how often they occur in one segment and its references: a trie whose edges are in
 * a hash table. An n-gram is the node that n symbols lead to. The symbols may be characters, or words, which
 * are nodes of another trie, so that equal numbers always are equal texts.
 */
#ifndef ROTARY_SCORE_TRANSLATION_NGRAMS_H
#define ROTARY_SCORE_TRANSLATION_NGRAMS_H

#include "base/hash_table.h"

#include <rotary/status.h>

enum { NGRAMS_ROOT = 0 }; /* the empty sequence */

struct ngram {
    int32_t prefix;                /* the node of all symbols but the last */
    uint32_t symbol;               /* the last */
    int32_t length;                /* symbols */
    int32_t hypothesis, reference; /* how often either has it */
    int32_t best;                  /* for whoever compares references; 0 at first */
};

struct ngrams {
    struct ngram *nodes; /* [count], the root first */
    int64_t count, capacity;
    struct hash_table edges; /* nodes by their prefix and symbol */
};

/* Empties the trie, which may be all zero, and makes room for `count` calls of ngrams_next. */
ROTARY_CHECKED rotary_status ngrams_begin(struct ngrams *ngrams, int64_t count, rotary_error *error);
/* The node of `prefix` followed by `symbol`, which is made if there is none. */
int32_t ngrams_next(struct ngrams *ngrams, int32_t prefix, uint32_t symbol);
/* The node of a sequence, as a symbol of another trie: at most `count` calls of ngrams_next. */
uint32_t ngrams_text(struct ngrams *ngrams, const uint32_t *symbols, int64_t count);

/* Counts every n-gram of n = 1 ... `order` of a sequence, in one member of their nodes: at most `order` *
 * `count` calls of ngrams_next. */
enum ngram_side { NGRAMS_HYPOTHESIS, NGRAMS_REFERENCE };
void ngrams_count(struct ngrams *ngrams, const uint32_t *symbols, int64_t count, int order,
                  enum ngram_side side);
void ngrams_free(struct ngrams *ngrams);

#endif
