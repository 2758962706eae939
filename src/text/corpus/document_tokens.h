/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenises the documents of a text: sections on many threads, in rounds, and what they give in order. The
 * result, and which mistake of the text is reported, do not depend on the number of threads.
 */
#ifndef ROTARY_TEXT_CORPUS_DOCUMENT_TOKENS_H
#define ROTARY_TEXT_CORPUS_DOCUMENT_TOKENS_H

#include "text/corpus/documents_request.h"
#include "text/corpus/text_sections.h"
#include "text/corpus/token_writer.h"

struct document_tokens_call {
    const struct token_documents_request *request;
    const struct text_files *files;
    const struct token_file_key *key;
    struct token_writer *writer; /* open */
};

/* Writes all tokens and starts, from where an earlier writer left off; the errors are those of
 * token_documents_open. */
ROTARY_CHECKED rotary_status document_tokens_write(const struct document_tokens_call *call,
                                                   rotary_error *error);

#endif
