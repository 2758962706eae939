/* SPDX-License-Identifier: Apache-2.0
 *
 * Some prompts that are continued together.
 */
#ifndef ROTARY_INFERENCE_CONTINUATION_BATCH_H
#define ROTARY_INFERENCE_CONTINUATION_BATCH_H

#include "inference/continuation.h"
#include "inference/loaded_model.h"
#include "model/generation/generation.h"

enum { USUAL_NEW_TOKENS = 100 };

struct continuation_batch {
    const struct loaded_model *model; /* borrowed */
    /* max_new_tokens 0: USUAL_NEW_TOKENS, or as many as the model has positions for where no context is set */
    struct generate_config config;
    struct continuation_config texts;
    int64_t first, count, capacity; /* prompts done before, in the batch, at most */
    struct continuation *continuations;
    const int32_t **prompts; /* [capacity], and likewise: */
    int32_t **outputs;
    int64_t *lengths, *generated;
};

/* `batch` has the model, the configurations and the capacity, and is empty otherwise. */
ROTARY_CHECKED rotary_status continuation_batch_create(struct continuation_batch *batch, rotary_error *error);
void continuation_batch_free(struct continuation_batch *batch); /* also after an error */

/* Adds a prompt to a batch that has room. Errors are those of continuation_create; ROTARY_INVALID_ARGUMENT
 * too if prompt and continuation need more positions than the model has. */
ROTARY_CHECKED rotary_status continuation_batch_add(struct continuation_batch *batch, const char *prompt,
                                                    int64_t bytes, rotary_error *error);
/* Continues all prompts. */
ROTARY_CHECKED rotary_status continuation_batch_run(struct continuation_batch *batch, rotary_error *error);
void continuation_batch_clear(struct continuation_batch *batch);

#endif
