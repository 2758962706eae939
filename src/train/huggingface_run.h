/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights in the folder of a BERT or RoFormer of transformers, which stands in the place of a run's
 * (docs/huggingface.md) and is only read.
 */
#ifndef ROTARY_TRAIN_HUGGINGFACE_RUN_H
#define ROTARY_TRAIN_HUGGINGFACE_RUN_H

#include "backend/parameters.h"

#include <stdbool.h>

/* Whether the folder's config.json is one of transformers. */
ROTARY_CHECKED rotary_status huggingface_run_find(const char *folder, bool *found, rotary_error *error);
/* Fills the parameters. Without `head_wanted` what is behind the last layer may be missing in the file, and
 * then stays as it is. */
ROTARY_CHECKED rotary_status huggingface_run_load(const char *folder, bool head_wanted,
                                                  struct parameters *parameters, rotary_error *error);

#endif
