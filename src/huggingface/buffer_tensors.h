/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of a file that are no weights: what earlier versions of transformers saved beside these, and what
 * follows from config.json. They are not used, so their values must be those that follow.
 */
#ifndef ROTARY_HUGGINGFACE_BUFFER_TENSORS_H
#define ROTARY_HUGGINGFACE_BUFFER_TENSORS_H

#include "huggingface/weight_files.h"
#include "model/transformer_config.h"

/* Names of those of decoders: frequencies of the rotation, causal masks and what stands for -infinity. And of
 * encoders: positions 0, 1, 2 ..., and RoFormer's sines and cosines of them. Patterns, NULL-terminated. */
extern const char *const buffer_tensors_of_decoders[], *const buffer_tensors_of_encoders[];

/* ROTARY_BAD_FILE names the first such tensor with other values; values may be rounded to its type. The model
 * is that of config.json. */
ROTARY_CHECKED rotary_status buffer_tensors_check(const struct weight_files *weights,
                                                  const struct transformer_config *model,
                                                  rotary_error *error);

#endif
