/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of a section of text, and where documents begin in them.
 */
#ifndef ROTARY_TEXT_CORPUS_SECTION_TOKENS_H
#define ROTARY_TEXT_CORPUS_SECTION_TOKENS_H

#include "text/corpus/document_reader.h"
#include "text/tokenizer/tokenizer.h"

/* A document that begins in the section. */
struct section_document {
    int64_t token, byte; /* its first ones, in those of the section, and of its documents' text */
    int64_t line;        /* line ends, or records, before it in the section */
};

/* Memory that is used again for one section after another. */
struct section_tokens {
    struct token_list list;
    struct section_document *documents;
    int64_t count, capacity;
    bool continues, open; /* a document of the section before has a part here; the last one may go on */
    int64_t bytes;        /* of the documents' text */
    int64_t lines, rest;  /* line ends, or ends of records, and bytes behind the last one */
    char *copy;           /* of a part with "\r\n" */
    int64_t copy_capacity;
    /* What failed, if `status` is not ROTARY_OK, behind which of the line ends. */
    rotary_status status;
    rotary_error error;
    int64_t failed_line;
    int64_t failed_byte; /* of that line, or of its part in the section: it is not UTF-8; -1: all is */
};

/* The tokens of a part of a document are those that its text has by itself, with "\n" in the place of "\r\n".
 * What fails is kept in `tokens`. */
void section_tokens_encode(struct section_tokens *tokens, const struct text_section *section,
                           const struct tokenizer *tokenizer);
void section_tokens_free(struct section_tokens *tokens); /* zeroed ones too */

#endif
