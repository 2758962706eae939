/* SPDX-License-Identifier: Apache-2.0
 *
 * The perplexity of a text by windows, as the documentation of transformers computes it ("Perplexity of
 * fixed-length models"): each window has `context` tokens, begins `stride` tokens after the one before, and
 * is scored on those tokens alone that no window before it had.
 */
#ifndef ROTARY_TRAIN_EVALUATION_TEXT_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_TEXT_EVALUATION_H

#include "model/transformer.h"

struct text_evaluation_call {
    struct transformer *transformer; /* a decoder, whose calls may have `context` tokens */
    const int32_t *tokens;           /* [count], at least 2 */
    int64_t count;
    int64_t context, stride; /* 2 <= context; 1 <= stride < context, or stride = context: no overlap */
};
struct text_evaluation {
    int64_t scored;  /* tokens: all but those that begin a window with nothing scored before them */
    int64_t correct; /* of them, those with the largest logit */
    int64_t windows;
    double nats; /* the sum of -log p */
};
ROTARY_CHECKED rotary_status text_evaluation_run(const struct text_evaluation_call *call,
                                                 struct text_evaluation *evaluation, rotary_error *error);

#endif
