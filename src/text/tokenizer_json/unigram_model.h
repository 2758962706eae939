/* SPDX-License-Identifier: Apache-2.0
 *
 * The unigram model of SentencePiece (Kudo, 2018): of all ways to make a word of pieces that with the highest
 * sum of scores, by Viterbi's algorithm. Tokens are those of the library `tokenizers`: a character that is no
 * piece has the lowest score less UNIGRAM_UNKNOWN_PENALTY, and such characters side by side are one token. Or
 * they are those of SentencePiece itself, whose sums have single precision, so that others of two ways may win.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_UNIGRAM_MODEL_H
#define ROTARY_TEXT_TOKENIZER_JSON_UNIGRAM_MODEL_H

#include "text/tokenizer_json/piece_table.h"

enum { UNIGRAM_UNKNOWN_PENALTY = 10 };

struct unigram_config {
    const struct piece_table *pieces; /* outlives the model */
    const double *scores;             /* of each token, [pieces->count]; copied */
    bool single;                      /* sums have single precision, as in SentencePiece */
    double unknown_score;             /* with `single`: of a character that is no piece */
    int32_t unknown;
    bool byte_fallback;    /* an unknown part becomes the tokens <0x00> ... of its bytes */
    int32_t fallback[256]; /* the token of each byte, if byte_fallback; -1: there is none */
};

struct unigram_model;

/* ROTARY_INVALID_ARGUMENT if the pieces have too many bytes, ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status unigram_model_create(struct unigram_model **model,
                                                  const struct unigram_config *config, rotary_error *error);
void unigram_model_destroy(struct unigram_model *model); /* NULL is allowed */

/* Memory for the words of one text; a zeroed one is empty. */
struct unigram_workspace {
    struct unigram_node *nodes; /* [capacity] */
    int64_t capacity;
};
void unigram_workspace_free(struct unigram_workspace *workspace);

/* Appends the tokens of a word, which is UTF-8. ROTARY_OUT_OF_MEMORY without memory for it,
 * ROTARY_INVALID_ARGUMENT if it has 2^30 bytes or more. */
ROTARY_CHECKED rotary_status unigram_model_encode(const struct unigram_model *model,
                                                  struct unigram_workspace *workspace, const char *word,
                                                  int64_t bytes, struct token_list *list,
                                                  rotary_error *error);

#endif
