/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of a run as an exported model has it (huggingface/export_model.h).
 */
#ifndef ROTARY_TRAIN_EXPORTED_VOCABULARY_H
#define ROTARY_TRAIN_EXPORTED_VOCABULARY_H

#include "huggingface/export_model.h"
#include "task/task.h"

/* Makes the vocabulary of a task, which must live as long, for a model with `size` tokens: a text ends with
 * the token that ends one for the task, or an answer. export_vocabulary_free frees it. */
ROTARY_CHECKED rotary_status exported_vocabulary_make(struct export_vocabulary *vocabulary,
                                                      const struct task *task, int64_t size,
                                                      enum export_format format, rotary_error *error);

#endif
