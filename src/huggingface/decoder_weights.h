/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of a decoder in a Hugging Face folder.
 */
#ifndef ROTARY_HUGGINGFACE_DECODER_WEIGHTS_H
#define ROTARY_HUGGINGFACE_DECODER_WEIGHTS_H

#include "backend/parameters.h"
#include "model/transformer_config.h"

/* Makes tie_word_embeddings of a model, which its config.json says, what the files of the folder are: an
 * output projection of its own is not tied. Files that cannot be read leave it as it is. */
void decoder_weights_settle(const char *folder, const json_t *family, struct transformer_config *model);

struct decoder_weights_call {
    const char *folder;
    const json_t *family;                   /* huggingface/decoder_family.h */
    const struct transformer_config *model; /* of decoder_config_read */
};
/* Fills the parameters, or gives stored ones their rows in the files, which stay open until the table is
 * freed. They have the names that a transformer of this model has. Tensors are f32, f16 or bf16, in one file
 * or several. ROTARY_BAD_FILE names the tensor that is missing, has another shape or type, or is no part of
 * such a model. */
ROTARY_CHECKED rotary_status decoder_weights_load(struct parameters *parameters,
                                                  const struct decoder_weights_call *call,
                                                  rotary_error *error);

#endif
