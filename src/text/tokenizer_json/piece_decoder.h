/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoders of a tokenizer.json, which make text of pieces: ByteLevel, Replace, ByteFallback, Fuse, Strip,
 * Metaspace, WordPiece, and the sequences of them that models have. Each piece becomes its text when the file
 * is read, and what depends on other pieces is a rule: what is between them, and what is left out at the
 * beginning.
 *
 * Texts are those of the library `tokenizers`, but that bytes which are no UTF-8 stay as they are, where the
 * library writes U+FFFD: a text may end within a character, and bytes come back as they went in.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_PIECE_DECODER_H
#define ROTARY_TEXT_TOKENIZER_JSON_PIECE_DECODER_H

#include "text/text_buffer.h"

#include <jansson.h>

struct piece_decoder {
    struct decode_step *steps; /* [count], each of a piece by itself, one after the other */
    int64_t count;
    const char *separator; /* between pieces */
    char *prefix; /* of pieces that no separator comes before, whose text is without it; NULL: none */
    bool cleans;  /* no separator comes before marks and English clitics */
    bool drops_first_mark; /* of the first piece the spaces that were marks have no text */
    char stripped;         /* the text begins without the first `strip_count` of these */
    int64_t strip_count;
    bool fused; /* while it is read: pieces have become one text */
};

/* Reads the "decoder" of the file `path`; NULL and null put spaces between pieces. What is invalid or not
 * supported is ROTARY_BAD_FILE; the caller frees the decoder in any case. */
ROTARY_CHECKED rotary_status piece_decoder_read(struct piece_decoder *decoder, const json_t *object,
                                                const char *path, rotary_error *error);
void piece_decoder_free(struct piece_decoder *decoder); /* a zeroed one too */

/* Whether a piece has the prefix. */
bool piece_decoder_has_prefix(const struct piece_decoder *decoder, const char *piece);
/* Whether no separator comes before a piece. */
bool piece_decoder_joins(const struct piece_decoder *decoder, const char *piece);
/* Replaces the buffer's content, a piece, by its text. `scratch` is overwritten. ROTARY_OUT_OF_MEMORY without
 * memory. */
ROTARY_CHECKED rotary_status piece_decoder_apply(const struct piece_decoder *decoder,
                                                 struct text_buffer *piece, struct text_buffer *scratch,
                                                 rotary_error *error);

#endif
