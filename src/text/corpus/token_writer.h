/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a file of tokens (text/corpus/token_file.h) piecemeal: into NAME.partial, with the starts of
 * documents in NAME.starts.partial until all tokens are there. The finished file is synced and renamed. Who
 * writes has NAME.partial locked, and the system unlocks it when the process ends, however it does. The next
 * writer of the same tokens goes on from the place that was noted last: where the file's header will be there
 * is a note of it, with the checksums of all before it. Nothing is synced until the end, so that a note may
 * outlive what it is about when the machine fails; then the checksums say so, and the writer begins anew.
 */
#ifndef ROTARY_TEXT_CORPUS_TOKEN_WRITER_H
#define ROTARY_TEXT_CORPUS_TOKEN_WRITER_H

#include "file/checksum/block_checksum.h"
#include "file/file.h"
#include "text/corpus/token_file.h"

/* A file that grows. */
struct token_stream {
    char path[FILE_PATH_BYTES];
    int descriptor; /* below 0: closed */
    struct block_checksum checksum;
};

/* How far a text is tokenised: zeros at its begin. */
struct token_place {
    int64_t sections, bytes; /* done */
    int64_t file;            /* of the section done last */
    int64_t line, rest;      /* line ends of that file, and bytes behind the last one */
    int64_t open;            /* 1: the last document may go on */
    int64_t document_file, document_line, document_token; /* where the last document begins */
};

enum { TOKEN_WRITER_BEGINS = 1 << 12 };

struct token_writer {
    char path[FILE_PATH_BYTES];
    struct token_file_key key;
    struct token_stream tokens, starts;
    struct token_file_contents contents; /* so far, without checksums */
    struct token_file_begin pending[TOKEN_WRITER_BEGINS];
    int pending_count;
};

/* Locks NAME.partial; *busy: another writer has it, and `writer` is none. */
ROTARY_CHECKED rotary_status token_writer_open(struct token_writer *writer, const char *path, bool *busy,
                                               rotary_error *error);
/* Goes on with what a writer of the same key left, at *place; else begins with zeros. */
ROTARY_CHECKED rotary_status token_writer_start(struct token_writer *writer, const struct token_file_key *key,
                                                struct token_place *place, rotary_error *error);
/* A document begins with the next token but `ahead.token`, and the next byte but `ahead.byte`. */
ROTARY_CHECKED rotary_status token_writer_begin(struct token_writer *writer, struct token_file_begin ahead,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status token_writer_add(struct token_writer *writer, const int32_t *tokens,
                                              int64_t count, rotary_error *error);
/* Whoever goes on will do so behind all that was added, and at this place. */
ROTARY_CHECKED rotary_status token_writer_note(struct token_writer *writer, const struct token_place *place,
                                               rotary_error *error);
/* Replaces the file. */
ROTARY_CHECKED rotary_status token_writer_finish(struct token_writer *writer, rotary_error *error);
/* Unlocks, and removes what is not finished unless it is to be kept. */
void token_writer_close(struct token_writer *writer, bool keep);

#endif
