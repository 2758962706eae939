/* SPDX-License-Identifier: Apache-2.0
 *
 * The library SentencePiece behind an interface in C: sentencepiece_library.cc, the only file in C++. No
 * exception leaves it, and the library prints nothing. sentencepiece_missing.c stands in its place where the
 * library is not.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_LIBRARY_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_LIBRARY_H

#include "text/tokenizer/sentencepiece.h"

struct sentencepiece_processor;

/* Makes a processor from the bytes of a .model file; messages do not say which file. */
ROTARY_CHECKED rotary_status sentencepiece_processor_create(struct sentencepiece_processor **processor,
                                                            const char *bytes, int64_t count,
                                                            rotary_error *error);
void sentencepiece_processor_destroy(struct sentencepiece_processor *processor); /* NULL is allowed */

int64_t sentencepiece_processor_size(const struct sentencepiece_processor *processor);
struct special_tokens sentencepiece_processor_special(const struct sentencepiece_processor *processor);
/* The functions of the tokenizer's own (text/tokenizer/tokenizer.h). */
struct token_text sentencepiece_processor_text(const struct sentencepiece_processor *processor,
                                               int32_t token);
ROTARY_CHECKED rotary_status sentencepiece_processor_encode(const struct sentencepiece_processor *processor,
                                                            const char *text, int64_t bytes,
                                                            struct token_list *list, rotary_error *error);
int64_t sentencepiece_processor_decode(const struct sentencepiece_processor *processor, const int32_t *tokens,
                                       int64_t count, char *text, int64_t capacity);

/* Trains on `count` > 0 lines that are not empty. The bytes of the model's file are the caller's to free. */
ROTARY_CHECKED rotary_status sentencepiece_library_train(const struct sentencepiece_config *config,
                                                         const struct text_line *lines, int64_t count,
                                                         char **model, int64_t *bytes, rotary_error *error);
const char *sentencepiece_library_version(void); /* NULL: it is not there */

#endif
