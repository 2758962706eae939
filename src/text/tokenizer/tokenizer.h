/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers: text as numbers 0 ... size - 1, and back. A tokenizer never changes once created, so any number
 * of threads may share it.
 *
 *     characters     one token per byte of a fixed alphabet; any other byte is an error
 *     words          what white space separates, or each character; what is not in the vocabulary is unknown
 *     bytes          one token per byte, whatever the text
 *     sentencepiece  pieces of words, learned from text (text/tokenizer/sentencepiece.h)
 *     huggingface    a tokenizer.json of the library tokenizers, as most models have
 *                    (text/tokenizer_json/huggingface_tokenizer.h)
 *     wordpiece      BERT's pieces of words, from a vocabulary (text/tokenizer/wordpiece.h)
 */
#ifndef ROTARY_TEXT_TOKENIZER_TOKENIZER_H
#define ROTARY_TEXT_TOKENIZER_TOKENIZER_H

#include "text/tokenizer/tokenizer_list.h"

#include <rotary/status.h>

#define ROTARY_TOKENIZER_ENUMERATOR(NAME, name) TOKENIZER_##NAME,
enum tokenizer_kind { ROTARY_TOKENIZERS(ROTARY_TOKENIZER_ENUMERATOR) TOKENIZERS };
#undef ROTARY_TOKENIZER_ENUMERATOR
extern const char *const tokenizer_names[]; /* NULL-terminated, in the order of tokenizer_kind */

struct tokenizer;

enum { TOKENIZER_MAX_TOKENS = 1 << 20 }; /* of what is read from a JSON object */

/* Tokens that stand for no text of their own; -1 where there is none. No text is encoded as one of them,
 * except that words out of the vocabulary are `unknown`, and that a tokenizer.json may give them a text. */
struct special_tokens {
    int32_t padding, unknown, begin, end, mask;
};

/* Which special tokens the models of a tokenizer expect around a text, as a tokenizer.json says. They are not
 * among those that tokenizer_encode appends. Of other files none is said. */
struct token_frame {
    bool begin, end;
};

/* The distinct bytes of the zero-terminated `alphabet`, in order of first appearance. No special tokens. */
ROTARY_CHECKED rotary_status characters_create(struct tokenizer **tokenizer, const char *alphabet,
                                               rotary_error *error);
/* The words of a text of `bytes` bytes that occur at least `min_frequency` times, most frequent first,
 * equally frequent ones in the order of their bytes: the vocabulary of "The Annotated Transformer" (Huang et
 * al., 2022), with its special tokens <s>, </s>, <blank> and <unk> before it. White space is that of C's
 * isspace in the C locale. ROTARY_INVALID_ARGUMENT if the text is not UTF-8 or has a zero byte; the message
 * has the position of the first one, counted from 1. */
ROTARY_CHECKED rotary_status words_create(struct tokenizer **tokenizer, const char *text, int64_t bytes,
                                          int64_t min_frequency, rotary_error *error);
/* Does likewise, but punctuation marks and symbols are words of their own, so that the vocabulary of a text
 * that is not tokenised has "tree" and "." where words_create has "tree.". A mark stays in its word if it is
 * an apostrophe or a hyphen followed by a letter or a digit (don't, well-known), or one of . , : between
 * digits (3.5, 10:30). In what is decoded the marks stand alone, as in any text that was tokenised. */
ROTARY_CHECKED rotary_status words_and_punctuation_create(struct tokenizer **tokenizer, const char *text,
                                                          int64_t bytes, int64_t min_frequency,
                                                          rotary_error *error);
/* Both, by a configuration. With `mask` the vocabulary has a fifth special token, <mask>, after <unk>. */
struct words_config {
    int64_t min_frequency;
    bool punctuation; /* as words_and_punctuation_create */
    bool characters;  /* each character (code point) that is no white space is a word, as for Chinese */
    bool spaces;      /* with `characters`, white space too: nothing of a text is lost */
    bool mask;
};
ROTARY_CHECKED rotary_status words_configured_create(struct tokenizer **tokenizer, const char *text,
                                                     int64_t bytes, const struct words_config *config,
                                                     rotary_error *error);
/* Tokens 0 ... 255 are the bytes; then come padding, begin and end. */
ROTARY_CHECKED rotary_status bytes_create(struct tokenizer **tokenizer, rotary_error *error);
void tokenizer_destroy(struct tokenizer *tokenizer); /* NULL is allowed */

enum tokenizer_kind tokenizer_kind(const struct tokenizer *tokenizer);
/* The number of tokens, special ones included. */
int64_t tokenizer_size(const struct tokenizer *tokenizer);
struct special_tokens tokenizer_special(const struct tokenizer *tokenizer);

struct token_frame tokenizer_frame(const struct tokenizer *tokenizer);
/* The token that texts begin with: of a tokenizer.json the one that it puts before them, if it does; of other
 * tokenizers the begin token. -1: there is none. */
int32_t tokenizer_begin(const struct tokenizer *tokenizer);

/* The text of a token, not zero-terminated; of a special one its name. It lives as long as the tokenizer. */
struct token_text {
    const char *bytes;
    int64_t count;
};
struct token_text tokenizer_text(const struct tokenizer *tokenizer, int32_t token);

/* Whether a token is a part of a word, but not its first: of SentencePiece a piece that begins neither with
 * the mark of a space nor with a Chinese character. No token of other kinds is. */
bool tokenizer_continues_word(const struct tokenizer *tokenizer, int32_t token);

/* Whether white space is in the tokens, character by character: bytes, and characters with spaces. */
bool tokenizer_has_spaces(const struct tokenizer *tokenizer);

/* Room for `capacity` tokens, of which `count` are there. */
struct token_list {
    int32_t *tokens;
    int64_t capacity, count;
    int64_t left_out; /* tokens that did not fit: the text is truncated to those before them */
};
/* Appends the tokens of a text of `bytes` bytes. ROTARY_INVALID_ARGUMENT if the text cannot be encoded: the
 * list stays as it is, and the message has the first byte that is not in the vocabulary and its position,
 * counted from 1. */
ROTARY_CHECKED rotary_status tokenizer_encode(const struct tokenizer *tokenizer, const char *text,
                                              int64_t bytes, struct token_list *list, rotary_error *error);
/* Writes the text of `count` tokens, each in 0 ... size - 1, and a terminating zero, at most `capacity` bytes
 * in all. Returns the number of bytes of the complete text without the zero, as snprintf does. Special tokens
 * have no text except for the unknown one; words are separated by a space. Only SentencePiece takes memory
 * for it: without any the text is empty. */
int64_t tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                         int64_t capacity);

/* Replaces the file `path` by the tokenizer, as a JSON object or as SentencePiece's .model file, and makes a
 * tokenizer from such a file, whatever its name. An invalid file is ROTARY_BAD_FILE; the message has its
 * path. */
ROTARY_CHECKED rotary_status tokenizer_save(const struct tokenizer *tokenizer, const char *path,
                                            rotary_error *error);
ROTARY_CHECKED rotary_status tokenizer_load(struct tokenizer **tokenizer, const char *path,
                                            rotary_error *error);
/* A checksum of what tokenizer_save writes: another tokenizer has another one. */
ROTARY_CHECKED rotary_status tokenizer_checksum(const struct tokenizer *tokenizer, uint64_t *checksum,
                                                rotary_error *error);

#endif
