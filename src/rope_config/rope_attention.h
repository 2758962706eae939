/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model's configuration says of its attention beside the rotation: scales of queries by position,
 * chunks of positions, and factors that its model type leaves out.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_ATTENTION_H
#define ROTARY_ROPE_CONFIG_ROPE_ATTENTION_H

#include "rope_config/rope_config.h"
#include "rope_config/rope_reader.h"

/* Sets config->query_scale and ->chunks, which stay as they are where the file has none or the caller reads
 * none; ->values; and the magnitude of config->plan, whose numbers are read already. */
ROTARY_CHECKED rotary_status rope_attention_read(const struct rope_reader *reader,
                                                 struct rope_config *config);

#endif
