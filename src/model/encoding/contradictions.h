/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of a model that contradict each other, each valid by itself. What a model computes is defined with
 * them too, so transformer_config_check accepts them; a run that is configured so is a mistake.
 */
#ifndef ROTARY_MODEL_ENCODING_CONTRADICTIONS_H
#define ROTARY_MODEL_ENCODING_CONTRADICTIONS_H

#include "model/transformer_config.h"

/* ROTARY_INVALID_ARGUMENT, with both keys and their values, if what one key asks for another excludes, in a
 * configuration that transformer_config_check has accepted. */
ROTARY_CHECKED rotary_status contradictions_check(const struct transformer_config *model,
                                                  rotary_error *error);

#endif
