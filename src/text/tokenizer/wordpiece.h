/* SPDX-License-Identifier: Apache-2.0
 *
 * WordPiece (Schuster and Nakajima, 2012; Wu et al., 2016), as BERT has it: a text becomes words
 * (text/tokenizer/bert_words.h), and a word the longest piece of the vocabulary that it begins with, then the
 * longest that goes on from there, and so on. Pieces that continue a word begin with "##". A word is the
 * unknown token if some part of it has no piece, or if it has more than BERT_WORD_CHARACTERS characters.
 *
 * Tokens are those of the libraries `tokenizers` and transformers, but that no text is encoded as a special
 * token: "[MASK]" is three words (transformers: split_special_tokens=True). A text is decoded as they do
 * without cleaning up spaces: a space before every piece but those that continue a word.
 *
 * tokenizer_load reads a vocab.txt, which has the line [UNK], and the tokenizer.json of `tokenizers`.
 */
#ifndef ROTARY_TEXT_TOKENIZER_WORDPIECE_H
#define ROTARY_TEXT_TOKENIZER_WORDPIECE_H

#include "text/tokenizer/bert_words.h"
#include "text/tokenizer/tokenizer.h"

enum { WORDPIECE_FILE_BYTES = 16 << 20, WORDPIECE_MAX_PIECES = 1 << 20 };

struct wordpiece_config {
    struct bert_rules rules;
    struct special_tokens special; /* different ids; -1: none, which `unknown` may not be */
};
/* Is as bert-base-uncased: lower case, accents stripped, Chinese characters split. No special tokens. */
void wordpiece_defaults(struct wordpiece_config *config);

/* The tokenizer of `count` pieces, which are copied: token i is pieces[i]. Of equal pieces the last one is
 * the token; an empty one is never used. ROTARY_INVALID_ARGUMENT if a piece is not UTF-8 text, there are too
 * many, or a special token is none of them. */
ROTARY_CHECKED rotary_status wordpiece_create(struct tokenizer **tokenizer,
                                              const struct wordpiece_config *config,
                                              const struct token_text *pieces, int64_t count,
                                              rotary_error *error);
/* Reads a vocab.txt, a piece a line, with the settings of the tokenizer_config.json in its folder:
 *     do_lower_case (default true), strip_accents (default: as do_lower_case), tokenize_chinese_chars (true)
 *     unk_token, cls_token, sep_token, pad_token, mask_token (default [UNK], [CLS] ...)
 * CLS is the special token `begin`, SEP `end`. Only [UNK] must be there. Other keys are ignored, but
 * do_basic_tokenize false is ROTARY_BAD_FILE, as is whatever does not fit. */
ROTARY_CHECKED rotary_status wordpiece_load(struct tokenizer **tokenizer, const char *path,
                                            rotary_error *error);

#endif
