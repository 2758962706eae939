/* SPDX-License-Identifier: Apache-2.0
 *
 * What a .model file of SentencePiece says (sentencepiece_model.proto), for other programs' files: its pieces
 * with their scores and types, and how text is normalised and cut.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_PIECES_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_PIECES_H

#include <rotary/status.h>

/* These are the types of the file, and of GGUF. */
enum piece_type {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN = 2,
    PIECE_CONTROL = 3,
    PIECE_USER_DEFINED = 4,
    PIECE_UNUSED = 5,
    PIECE_BYTE = 6
};

struct sentencepiece_piece {
    const char *bytes; /* not zero-terminated */
    int64_t count;
    float score;
    int type; /* enum piece_type */
};

struct sentencepiece_pieces {
    struct sentencepiece_piece *pieces; /* [count], by their ids */
    int64_t count;
    bool bpe;           /* merges pairs; else unigram */
    bool byte_fallback; /* of characters that no piece has */
    bool add_dummy_prefix, remove_extra_whitespaces;
    const unsigned char *charsmap; /* of the normaliser; its bytes */
    int64_t charsmap_count;        /* 0: text is not normalised */
};

/* Reads the bytes of a file that sentencepiece_check_file accepts, which are borrowed. ROTARY_UNSUPPORTED for
 * models of words or characters (model_type), which have no pieces of words, and for those whose spaces are
 * no U+2581 before a word (escape_whitespaces, treat_whitespace_as_suffix). sentencepiece_pieces_free frees
 * what a success allocated. */
ROTARY_CHECKED rotary_status sentencepiece_pieces_read(struct sentencepiece_pieces *pieces, const char *bytes,
                                                       int64_t count, rotary_error *error);
void sentencepiece_pieces_free(struct sentencepiece_pieces *pieces);

#endif
