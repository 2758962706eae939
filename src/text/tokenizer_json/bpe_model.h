/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte-pair encoding (Sennrich, Haddow and Birch, 2016): a word begins as its characters, or as its bytes
 * (Radford et al., 2019), and of all neighbours that may be merged those of the lowest rank are, the leftmost
 * first, until none may be. Tokens are those of the library `tokenizers`.
 *
 * A word of n symbols takes n log n steps: neighbours wait in a heap, symbols are a linked list. A word that
 * is a piece of the vocabulary, and of which merging makes that piece, is found in one step.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_BPE_MODEL_H
#define ROTARY_TEXT_TOKENIZER_JSON_BPE_MODEL_H

#include "text/tokenizer_json/piece_table.h"

/* The tokens `left` and `right` become `merged`. */
struct bpe_merge {
    int32_t left, right, merged, rank;
};

struct bpe_config {
    const struct piece_table *pieces; /* as a text has them; outlives the model */
    bool bytes;                       /* a word begins as bytes, not as characters */
    bool byte_fallback;    /* a character that is no piece becomes the tokens <0x00> ... of its bytes */
    bool ignore_merges;    /* a word that is a piece is that token, whatever merging makes of it */
    bool fuse_unknown;     /* unknown characters side by side are one unknown token */
    int32_t unknown;       /* the token of a character that is no piece; -1: such a character is left out */
    int32_t fallback[256]; /* the token of each byte, if byte_fallback; -1: there is none */
};

struct bpe_model;

/* A model of `count` merges, which are copied; of the same neighbours the last one counts.
 * ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status bpe_model_create(struct bpe_model **model, const struct bpe_config *config,
                                              const struct bpe_merge *merges, int64_t count,
                                              rotary_error *error);
void bpe_model_destroy(struct bpe_model *model); /* NULL is allowed */

/* Memory for the words of one text; a zeroed one is empty. */
struct bpe_workspace {
    struct bpe_symbol *symbols; /* [capacity] */
    struct bpe_candidate *heap; /* [3 * capacity] */
    int64_t capacity;
};
void bpe_workspace_free(struct bpe_workspace *workspace);

/* Appends the tokens of a word, which is UTF-8. ROTARY_OUT_OF_MEMORY without memory for its symbols,
 * ROTARY_INVALID_ARGUMENT if it has 2^30 bytes or more. */
ROTARY_CHECKED rotary_status bpe_model_encode(const struct bpe_model *model, struct bpe_workspace *workspace,
                                              const char *word, int64_t bytes, struct token_list *list,
                                              rotary_error *error);

#endif
