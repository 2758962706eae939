/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a BERT or RoFormer of transformers in the place of a run's: config.json, model.safetensors,
 * and tokenizer.json or vocab.txt with tokenizer_config.json. It is only read.
 */
#ifndef ROTARY_TRAIN_HUGGINGFACE_RUN_H
#define ROTARY_TRAIN_HUGGINGFACE_RUN_H

#include "backend/parameters.h"
#include "train/run.h"

/* Whether the folder's config.json is one of transformers. */
ROTARY_CHECKED rotary_status huggingface_run_find(const char *folder, bool *found, rotary_error *error);
/* The configuration of a run that would have this model: the task classification for one with a head for
 * sequence classification, else masked, of the longest sequences that the model has positions for. `object`
 * was read from `path`. */
ROTARY_CHECKED rotary_status huggingface_run_config(const json_t *object, const char *path,
                                                    struct run_config *config, rotary_error *error);
/* Fills the parameters. Without `head_wanted` what is behind the last layer may be missing in the file, and
 * then stays as it is. */
ROTARY_CHECKED rotary_status huggingface_run_load(const char *folder, bool head_wanted,
                                                  struct parameters *parameters, rotary_error *error);

#endif
