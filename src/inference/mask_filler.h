/* SPDX-License-Identifier: Apache-2.0
 *
 * The most probable tokens for the masks of lines of text.
 */
#ifndef ROTARY_INFERENCE_MASK_FILLER_H
#define ROTARY_INFERENCE_MASK_FILLER_H

#include "inference/loaded_model.h"
#include "text/text_lines.h"

struct mask_guess {
    int32_t token;
    double probability;
};

struct mask_filler {
    const struct loaded_model *model; /* borrowed */
    const struct tokenizer *tokenizer;
    struct token_text mask;     /* what stands for a mask */
    int64_t top, room;          /* guesses for a mask; tokens that the model has positions for */
    int64_t masks;              /* of the last line */
    struct mask_guess *guesses; /* [masks, top]: the most probable first, of equal ones the first token */
    int32_t *tokens;            /* [room] */
    int64_t *rows;              /* [room]: of the masks */
    float *logits;              /* [logits_room, vocabulary] */
    int64_t logits_room;
};

/* For at most `top` guesses for each mask. ROTARY_INVALID_ARGUMENT for a model that has no masks, which
 * `folder` names. The caller frees the filler, also after an error. */
ROTARY_CHECKED rotary_status mask_filler_create(struct mask_filler *filler, const struct loaded_model *model,
                                                const char *folder, int64_t top, rotary_error *error);
/* Finds the guesses for a line. ROTARY_INVALID_ARGUMENT if it has no mask, or more tokens than the model has
 * positions for, or if the model's logits are not numbers. */
ROTARY_CHECKED rotary_status mask_filler_run(struct mask_filler *filler, const struct text_line *line,
                                             rotary_error *error);
void mask_filler_free(struct mask_filler *filler); /* one that is all zero too */

#endif
