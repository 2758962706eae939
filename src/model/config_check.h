/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the members of a configuration agree.
 */
#ifndef ROTARY_MODEL_CONFIG_CHECK_H
#define ROTARY_MODEL_CONFIG_CHECK_H

#include "model/transformer_config.h"

/* Checks that the members agree (heads divide width, rotary dimensions are even, ...) and replaces head_dim,
 * num_key_value_heads and intermediate_size of 0 by the values that follow from the others; of an
 * encoder-decoder also num_encoder_layers and, where the vocabulary is shared, source_vocab_size. */
ROTARY_CHECKED rotary_status transformer_config_check(struct transformer_config *config, rotary_error *error);

#endif
