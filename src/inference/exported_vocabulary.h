/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of a model as an exported one has it (huggingface/export_model.h).
 */
#ifndef ROTARY_INFERENCE_EXPORTED_VOCABULARY_H
#define ROTARY_INFERENCE_EXPORTED_VOCABULARY_H

#include "huggingface/export_model.h"
#include "text/tokenizer/tokenizer.h"

struct exported_vocabulary_call {
    const struct tokenizer *tokenizer;  /* NULL: the model has none */
    int32_t begin, end;                 /* tokens that texts begin and end with; -1: none */
    const struct generation_ends *ends; /* of what is generated; NULL: `end` */
    int64_t size;                       /* tokens of the model */
    const char *name; /* of the model, which GGUF has; llama.cpp makes rules of some names */
    enum export_format format;
};
/* Makes it; the tokenizer must live as long. export_vocabulary_free frees it. */
ROTARY_CHECKED rotary_status exported_vocabulary_make(struct export_vocabulary *vocabulary,
                                                      const struct exported_vocabulary_call *call,
                                                      rotary_error *error);

#endif
