/* SPDX-License-Identifier: Apache-2.0
 *
 * Translating the sentences of a split by greedy search, and scoring all of them by BLEU.
 */
#ifndef ROTARY_TRAIN_EVALUATION_TRANSLATIONS_H
#define ROTARY_TRAIN_EVALUATION_TRANSLATIONS_H

#include "train/evaluation/scores.h"

/* Translates the first evaluation->translated examples of the split, sets bleu and signature, and fills the
 * samples. Where config->translations names a file, it is replaced by the translations, one a line. */
ROTARY_CHECKED rotary_status translations_run(const struct task *task, struct transformer *transformer,
                                              const struct evaluation_config *config,
                                              struct evaluation *evaluation, rotary_error *error);

#endif
