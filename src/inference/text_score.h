/* SPDX-License-Identifier: Apache-2.0
 *
 * How probable a model finds any text (train/evaluation/text_evaluation.h), and its logits.
 */
#ifndef ROTARY_INFERENCE_TEXT_SCORE_H
#define ROTARY_INFERENCE_TEXT_SCORE_H

#include "inference/loaded_model.h"
#include "train/evaluation/text_evaluation.h"

struct text_score_call {
    const struct loaded_model *model; /* of calls of `context` tokens */
    const char *folder;               /* the model's, for messages */
    const char *text, *tokens;        /* a file of text, or one of the numbers of its tokens; else NULL */
    const char *logits;               /* .npy file that gets those of every token; NULL: none */
    int64_t context, stride;          /* tokens of a window, and from one window to the next */
};

struct text_score {
    int64_t tokens;
    int64_t bytes; /* of the text; 0 of tokens */
    bool scored;   /* false: the tokens of the model see all others, so there are logits alone */
    struct text_evaluation evaluation;
};

/* Sets what is 0 for the model in a folder: a context of all its positions, but no more than are usual, and a
 * stride of half the context. */
ROTARY_CHECKED rotary_status text_score_windows(const char *folder, int64_t *context, int64_t *stride,
                                                rotary_error *error);
/* ROTARY_BAD_FILE if the file has no text or no numbers of tokens, ROTARY_INVALID_ARGUMENT if they do not fit the
 * call, or if the model's loss is not a number. */
ROTARY_CHECKED rotary_status text_score_run(const struct text_score_call *call, struct text_score *score,
                                            rotary_error *error);

double text_score_nats_per_token(const struct text_score *score);
double text_score_bits_per_byte(const struct text_score *score);

#endif
