/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a corpus's tokens, NAME.tokens: a header of TOKEN_FILE_HEADER_BYTES; the tokens, 32 bits each,
 * document after document; zeros up to a multiple of 8 bytes; where each document begins, and where the last
 * one ends. Everything is little-endian.
 */
#ifndef ROTARY_TEXT_CORPUS_TOKEN_FILE_H
#define ROTARY_TEXT_CORPUS_TOKEN_FILE_H

#include "file/mapped_file.h"

/* The format also grows where the same texts and tokenizer make other tokens than before, so that those of an earlier
 * reader are made anew. */
enum { TOKEN_FILE_HEADER_BYTES = 256, TOKEN_FILE_FORMAT = 3 };

/* Where a document begins: its first token and the first byte of its text, counted over all documents. */
struct token_file_begin {
    int64_t token, byte;
};

/* What tokens are made from: a file with another key is another corpus's. */
struct token_file_key {
    uint64_t text_bytes, text_checksum; /* of all files, as they are */
    uint64_t tokenizer_checksum;
    int64_t vocabulary_size;
    int64_t boundary;
};

struct token_file_contents {
    int64_t documents, tokens;
    int64_t bytes; /* of the documents' text */
    uint64_t tokens_checksum, starts_checksum;
};

/* The first bytes of a file, the rest of TOKEN_FILE_HEADER_BYTES is 0. */
struct token_file_header {
    char magic[16];
    int64_t format;
    struct token_file_key key;
    struct token_file_contents contents;
    uint64_t checksum; /* of what is before */
};
void token_file_header_make(struct token_file_header *header, const struct token_file_key *key,
                            const struct token_file_contents *contents);
/* Where the starts of documents are in the file. */
int64_t token_file_begins_at(int64_t tokens);

struct token_file {
    struct mapped_file map;
    struct token_file_header header;       /* a copy */
    const int32_t *tokens;                 /* [contents.tokens], each 0 ... vocabulary_size - 1 */
    const struct token_file_begin *starts; /* [contents.documents + 1]; tokens rise, bytes do not fall */
};

/* Opens a file. ROTARY_BAD_FILE if it is damaged, which is found by reading all of it on `threads` threads,
 * and if it does not begin as such a file does: then *foreign is true. */
ROTARY_CHECKED rotary_status token_file_open(struct token_file *file, const char *path, int threads,
                                             bool *foreign, rotary_error *error);
/* Only what the header says; ROTARY_BAD_FILE as above. */
ROTARY_CHECKED rotary_status token_file_read_header(const char *path, struct token_file_header *header,
                                                    bool *foreign, rotary_error *error);
void token_file_close(struct token_file *file); /* zeroed ones too */

#endif
