/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of BERT and RoFormer in a folder of transformers: model.safetensors.
 */
#ifndef ROTARY_HUGGINGFACE_ENCODER_WEIGHTS_H
#define ROTARY_HUGGINGFACE_ENCODER_WEIGHTS_H

#include "backend/parameters.h"
#include "huggingface/encoder_config.h"

struct encoder_weights_call {
    const char *folder;
    const struct encoder_config *config;
    bool head_wanted; /* false: what is behind the last layer keeps its values where the file has none */
};
/* Fills the parameters, which have the names that the transformer of encoder_config_model has. Tensors are
 * f32, f16 or bf16. Heads that the model does not have are ignored. ROTARY_BAD_FILE names the tensor that is
 * missing, has another shape or type, or is a part of an encoder that such a model does not have. */
ROTARY_CHECKED rotary_status encoder_weights_load(struct parameters *parameters,
                                                  const struct encoder_weights_call *call,
                                                  rotary_error *error);

#endif
