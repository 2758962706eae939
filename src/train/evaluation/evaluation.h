/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluating a transformer on a task: exact matches of the completions it generates with a KV cache, or BLEU
 * of its translations, and the validation loss.
 */
#ifndef ROTARY_TRAIN_EVALUATION_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_EVALUATION_H

#include "train/evaluation/scores.h"

/* Evaluates a transformer. For a finite corpus it must have been created for packed batches. The first
 * evaluation->sample_count problems are recorded in evaluation->samples. */
ROTARY_CHECKED rotary_status evaluation_run(const struct task *task, struct transformer *transformer,
                                            const struct evaluation_config *config,
                                            struct evaluation *evaluation, rotary_error *error);

#endif
