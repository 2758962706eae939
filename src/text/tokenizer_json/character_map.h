/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of characters of a SentencePiece model, which T5, XLM-RoBERTa and others have as the normalizer
 * "Precompiled": texts that become other texts, in a double array (Darts-clone). The file has the number of
 * its bytes, the array, and the texts, each with a zero byte behind it.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_CHARACTER_MAP_H
#define ROTARY_TEXT_TOKENIZER_JSON_CHARACTER_MAP_H

#include "text/text_buffer.h"
#include "text/tokenizer/double_array.h"

struct character_map {
    unsigned char *bytes;      /* of the file */
    struct double_array array; /* in them */
    int64_t text_bytes;
};

/* Reads a table in base64 (RFC 4648). ROTARY_INVALID_ARGUMENT if it is none; a place of the array that leads
 * out of it is found when it is looked up, and leads to nothing. The caller frees the map in any case. */
ROTARY_CHECKED rotary_status character_map_read(struct character_map *map, const char *base64,
                                                rotary_error *error);
void character_map_free(struct character_map *map); /* a zeroed one too */

/* Appends what becomes of UTF-8 text. Of a grapheme of five bytes or fewer, else of each of its characters,
 * the shortest beginning that is in the table decides, as in the library `tokenizers`. */
ROTARY_CHECKED rotary_status character_map_apply(const struct character_map *map, const char *text,
                                                 int64_t bytes, struct text_buffer *to, rotary_error *error);

#endif
