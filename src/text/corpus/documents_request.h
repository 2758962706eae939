/* SPDX-License-Identifier: Apache-2.0
 *
 * What text/corpus/token_documents.h is asked for.
 */
#ifndef ROTARY_TEXT_CORPUS_DOCUMENTS_REQUEST_H
#define ROTARY_TEXT_CORPUS_DOCUMENTS_REQUEST_H

#include "text/corpus/document_reader.h"
#include "text/tokenizer/tokenizer.h"

#include <stdatomic.h>

struct token_documents_progress {
    int64_t done, bytes; /* of the text, tokenised and in all */
    int64_t documents, tokens;
    bool waiting; /* for another process that tokenises the same text; the rest is 0 */
};

struct token_documents_request {
    /* UTF-8 texts, or folders, whose files are taken in the order of their names, with those of the folders
     * in them; hidden files and caches are left out. A name that ends in .gz, .zst or .bz2 is a compressed
     * file's; .jsonl before that, or .ndjson, that of records of JSON, one a line, each a document. */
    const char *const *paths;
    int count;
    enum document_boundary boundary;   /* of plain texts */
    const char *field;                 /* of records, the text; NULL: "text" */
    const struct tokenizer *tokenizer; /* borrowed until token_documents_open returns */
    const char *cache;                 /* a file; NULL: that of token_documents_cache */
    int threads;                       /* 0: all processors */
    void (*progress)(void *argument, const struct token_documents_progress *progress); /* may be NULL */
    void *argument;
    const atomic_bool *interrupted; /* once true, opening ends with ROTARY_INTERRUPTED soon; may be NULL */
};

#endif
