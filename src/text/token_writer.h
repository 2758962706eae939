/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a file of tokens (text/token_file.h) piecemeal: into NAME.partial, with the begins of documents in
 * NAME.begins.partial until all tokens are there. The finished file is synced and renamed. Who writes has
 * NAME.partial locked, and the system unlocks it when the process ends, however it does.
 */
#ifndef ROTARY_TEXT_TOKEN_WRITER_H
#define ROTARY_TEXT_TOKEN_WRITER_H

#include "file/block_checksum.h"
#include "file/file.h"
#include "text/token_file.h"

/* A file that grows. */
struct token_stream {
    char path[FILE_PATH_BYTES];
    int descriptor; /* below 0: closed */
    struct block_checksum checksum;
};

enum { TOKEN_WRITER_BEGINS = 1 << 12 };

struct token_writer {
    char path[FILE_PATH_BYTES];
    struct token_stream tokens, begins;
    struct token_file_contents contents; /* so far, without checksums */
    int64_t pending[TOKEN_WRITER_BEGINS];
    int pending_count;
};

/* Locks NAME.partial; *busy: another writer has it, and `writer` is none. */
ROTARY_CHECKED rotary_status token_writer_open(struct token_writer *writer, const char *path, bool *busy,
                                               rotary_error *error);
ROTARY_CHECKED rotary_status token_writer_start(struct token_writer *writer, rotary_error *error);
/* A document begins with the next token but `ahead`. */
ROTARY_CHECKED rotary_status token_writer_begin(struct token_writer *writer, int64_t ahead,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status token_writer_add(struct token_writer *writer, const int32_t *tokens,
                                              int64_t count, rotary_error *error);
/* Replaces the file. */
ROTARY_CHECKED rotary_status token_writer_finish(struct token_writer *writer,
                                                 const struct token_file_key *key, rotary_error *error);
/* Removes what is not finished, and unlocks. */
void token_writer_close(struct token_writer *writer);

#endif
