/* SPDX-License-Identifier: Apache-2.0
 *
 * A Hugging Face decoder that was trained elsewhere: model, weights and tokenizer of a folder, which
 * stands in the place of a run's (docs/how-to/huggingface.md) and is only read. There is no task.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_PRETRAINED_H
#define ROTARY_TRAIN_WEIGHTS_PRETRAINED_H

#include "huggingface/generation_ends.h"
#include "model/transformer.h"
#include "text/tokenizer/tokenizer.h"

/* The caller frees it by pretrained_free. */
struct pretrained {
    struct transformer_config model;
    struct transformer *transformer;
    struct tokenizer *tokenizer; /* tokenizer.json, or else tokenizer.model; NULL: the folder has neither */
    int32_t begin, end;          /* tokens that texts begin with, and end with; -1: none */
    struct generation_ends ends; /* those that end what is generated: of its files, or else `end` */
};

struct pretrained_call {
    const char *folder;
    const struct backend *backend; /* borrowed by the model */
    int64_t batch, time;           /* of its calls at most: struct transformer_limits */
    /* The longest text has so many tokens, prompt and continuation together: scalings by length are for so
     * many. 0: as many as the model has positions for. */
    int64_t tokens;
    bool copies; /* the weights into parameters of f32, to be read; else matrices stay in their files */
};

/* Whether the folder's config.json is that of such a decoder. A folder without one is none. */
ROTARY_CHECKED rotary_status pretrained_find(const char *folder, bool *found, rotary_error *error);
/* The positions of its model. */
ROTARY_CHECKED rotary_status pretrained_positions(const char *folder, int64_t *positions,
                                                  rotary_error *error);
/* Errors are those of decoder_config_read, decoder_weights_load and tokenizer_load. The tokenizer may have
 * more tokens than the model, which refuses them where they occur, or fewer. */
ROTARY_CHECKED rotary_status pretrained_load(const struct pretrained_call *call,
                                             struct pretrained *pretrained, rotary_error *error);
void pretrained_free(struct pretrained *pretrained);

#endif
