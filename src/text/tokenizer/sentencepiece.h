/* SPDX-License-Identifier: Apache-2.0
 *
 * SentencePiece (Kudo and Richardson, 2018): pieces of words learned from text, by the library of that name.
 * A tokenizer of kind TOKENIZER_SENTENCEPIECE is a model of the library: its tokens, ids and texts are those
 * that the library gives, and its file is the library's own, NAME.model. The mask is a control symbol named
 * <mask> or [MASK]. In a program built without the
 * library, train and load are ROTARY_UNSUPPORTED, and the message says what is missing.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_H

#include "text/text_lines.h"
#include "text/tokenizer/tokenizer.h"

enum sentencepiece_model { SENTENCEPIECE_UNIGRAM, SENTENCEPIECE_BPE };
extern const char
    *const sentencepiece_model_names[]; /* NULL-terminated, in the order of sentencepiece_model */

struct sentencepiece_config {
    enum sentencepiece_model model;
    int64_t vocabulary_size;   /* special tokens and bytes included */
    double character_coverage; /* 0.98 ... 1, the share of the text's characters that become pieces of their
                                  own */
    bool byte_fallback;        /* other characters become the bytes of their UTF-8, not the unknown token */
    struct special_tokens
        special;            /* different ids; -1: none, which `unknown` may not be. `mask` is ignored */
    bool mask;              /* there is a token <mask>, at the first id that the others leave free */
    int64_t max_line_bytes; /* longer lines are left out */
};
/* Unigram, 8000 pieces, coverage 0.9995, lines of at most 4192 bytes, as the library has it; ids 0 ... 3 for
 * padding, unknown, begin and end; no mask. */
void sentencepiece_defaults(struct sentencepiece_config *config);

/* What became of the lines: each is one of these. */
struct sentencepiece_counts {
    int64_t used;
    int64_t empty;          /* has nothing but white space and control characters */
    int64_t too_long;       /* more than max_line_bytes */
    int64_t first_too_long; /* its index; -1: there is none */
    int64_t reserved;       /* has U+2585, which stands for unknown characters while the library trains */
};

/* Trains on `count` lines of UTF-8 text, which are borrowed. The library normalises them (NFKC, white space)
 * and nothing else: lower-casing is the caller's. One thread works, so that the same lines give the same
 * model. Set counts in any case, NULL is allowed. ROTARY_INVALID_ARGUMENT if the configuration is invalid, or
 * the text is too small for the vocabulary. */
ROTARY_CHECKED rotary_status sentencepiece_train(struct tokenizer **tokenizer,
                                                 const struct sentencepiece_config *config,
                                                 const struct text_line *lines, int64_t count,
                                                 struct sentencepiece_counts *counts, rotary_error *error);
/* Reads a .model file; ROTARY_BAD_FILE if it is none, or would harm the library. tokenizer_load reads it too.
 */
ROTARY_CHECKED rotary_status sentencepiece_load(struct tokenizer **tokenizer, const char *path,
                                                rotary_error *error);

/* The version of the library; NULL: the program was built without it. */
const char *sentencepiece_version(void);

#endif
