/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of BERT and RoFormer in a Hugging Face folder: model.safetensors.
 */
#ifndef ROTARY_HUGGINGFACE_ENCODER_WEIGHTS_H
#define ROTARY_HUGGINGFACE_ENCODER_WEIGHTS_H

#include "backend/parameters.h"
#include "huggingface/encoder_config.h"
#include "huggingface/weight_files.h"

/* Makes tie_word_embeddings of the configuration what the files of the folder are, as decoder_weights_settle.
 */
void encoder_weights_settle(const char *folder, struct encoder_config *config);

struct encoder_weights_call {
    const char *folder;
    const struct encoder_config *config;
    bool head_wanted; /* false: what is behind the last layer keeps its values where the file has none */
    struct unused_tensors *unused; /* gets those of heads that the model does not have; NULL: not wanted */
};
/* Fills the parameters, which have the names that the transformer of encoder_config_model has. Tensors are
 * f32, f16 or bf16. ROTARY_BAD_FILE names the tensor that is missing, has another shape or type, or is
 * neither a part of such a model nor of the head of another task. */
ROTARY_CHECKED rotary_status encoder_weights_load(struct parameters *parameters,
                                                  const struct encoder_weights_call *call,
                                                  rotary_error *error);

#endif
