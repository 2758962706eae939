/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizers of the library `tokenizers`, from its tokenizer.json: a normalizer
 * (text/tokenizer_json/text_normalizer.h), a pre-tokenizer (text/tokenizer_json/pre_tokenizer.h), a model
 * (text/tokenizer_json/bpe_model.h, text/tokenizer_json/unigram_model.h,
 * text/tokenizer_json/wordpiece_model.h, or whole words) and a decoder (text/tokenizer_json/piece_decoder.h).
 * Tokens and texts are those of the library. As there, the content of an added token, special or not, is that
 * token wherever a text has it.
 *
 * The text of a token is what it is decoded to in the midst of others. Bytes that are no UTF-8 stay as they
 * are: the text of some tokens may end within a character.
 *
 * Special tokens have the names that the tokenizer_config.json in the file's folder gives them, if there is
 * one: bos_token or cls_token, eos_token or sep_token, pad_token, unk_token and mask_token. Those that the
 * post-processor puts around a text are `begin` and `end` in any case, and tokenizer_frame has them.
 *
 * A file of this program has the object of the tokenizer.json as "file", and "special_tokens".
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_HUGGINGFACE_TOKENIZER_H
#define ROTARY_TEXT_TOKENIZER_JSON_HUGGINGFACE_TOKENIZER_H

#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer_json/added_tokens.h"
#include "text/tokenizer_json/bpe_model.h"
#include "text/tokenizer_json/piece_decoder.h"
#include "text/tokenizer_json/pre_tokenizer.h"
#include "text/tokenizer_json/unigram_model.h"
#include "text/tokenizer_json/wordpiece_model.h"

/* A tokenizer, and the parts of it that its file fills. */
struct huggingface_tokenizer {
    struct tokenizer tokenizer;
    struct text_normalizer normalizer;
    struct pre_tokenizer pre_tokenizer;
    struct added_tokens added;
    struct piece_decoder decoder;
    struct piece_table pieces; /* as texts have them */
    struct bpe_model *bpe;     /* the model: one of these, or none: a word is a piece */
    struct unigram_model *unigram;
    struct wordpiece_model *wordpiece;
    int32_t unknown_word;     /* of whole words */
    struct text_buffer texts; /* of all tokens, one after the other */
    int64_t *text_starts;     /* [size + 1] */
    unsigned char *flags;     /* enum token_flag of each token */
    struct text_buffer file;  /* the JSON that it was read from */
};

enum token_flag {
    TOKEN_SPECIAL = 1,       /* has no text of its own, unless it is the unknown one */
    TOKEN_CONTINUES = 2,     /* is a part of a word, but not its first */
    TOKEN_KEEPS_SPACES = 4,  /* its spaces are no marks of a word's beginning */
    TOKEN_JOINS = 8,         /* the separator of the decoder does not come before it */
    TOKEN_LACKS_PREFIX = 16, /* its text is without the decoder's prefix, unless it is the first */
};

/* Whether an object is a tokenizer.json, but for one of BERT, or a vocab.json; and its tokenizer, with
 * the names of the tokenizer_config.json in the folder of `path`. What is invalid or not supported is
 * ROTARY_BAD_FILE. */
void huggingface_tokenizer_destroy(struct tokenizer *tokenizer);

#endif
