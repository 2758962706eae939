/* SPDX-License-Identifier: Apache-2.0
 *
 * A corpus of documents as tokens, in a file that is mapped into memory. The text is tokenised once, on all
 * threads, and kept in a file beside it: the cache. Text of any size is read through a map, section by
 * section, and never stands in memory as a whole.
 *
 * The cache has checksums of the text, of the tokenizer and of itself, and each opening computes them. A
 * cache of another text or tokenizer, or a damaged one, is made anew; a file that is no cache is never
 * replaced. The same text gives the same bytes of cache with any number of threads. Whoever is killed while
 * tokenising leaves NAME.partial, which the next opening goes on with, or replaces. Of two processes one
 * tokenises, and the other waits for it.
 */
#ifndef ROTARY_TEXT_CORPUS_TOKEN_DOCUMENTS_H
#define ROTARY_TEXT_CORPUS_TOKEN_DOCUMENTS_H

#include "file/file.h"
#include "text/corpus/documents_request.h"
#include "text/corpus/token_file.h"

struct token_documents;

/* Opens the cache, or makes it first. ROTARY_BAD_FILE, with file and line, if the text is not UTF-8, cannot
 * be encoded or has a document without a token, and if there is no document at all. The text may change
 * afterwards, but a process is killed that reads a map of a file which becomes shorter meanwhile. */
ROTARY_CHECKED rotary_status token_documents_open(struct token_documents **documents,
                                                  const struct token_documents_request *request,
                                                  rotary_error *error);
void token_documents_close(struct token_documents *documents); /* NULL is allowed */

/* The path of the cache that the request asks for: its own, or "<first path>.<8 digits>.tokens", where the
 * digits depend on tokenizer, boundary and the names of the paths. */
ROTARY_CHECKED rotary_status token_documents_cache(const struct token_documents_request *request,
                                                   char path[FILE_PATH_BYTES], rotary_error *error);

struct token_documents_totals {
    int64_t documents, tokens;
    int64_t bytes;   /* of the documents' text, with "\n" between lines and nothing between documents */
    int64_t longest; /* tokens of the longest document */
    bool cached;     /* the cache was there, and nothing was tokenised */
};
struct token_documents_totals token_documents_totals(const struct token_documents *documents);

int64_t token_documents_count(const struct token_documents *documents);

/* The tokens of document 0 ... count - 1 in the map, at least one, without special tokens. They live until
 * the documents are closed. */
struct token_span {
    const int32_t *tokens;
    int64_t count;
};
struct token_span token_documents_at(const struct token_documents *documents, int64_t index);
/* The bytes of the text of that document, with "\n" between its lines. */
int64_t token_documents_bytes(const struct token_documents *documents, int64_t index);

#endif
