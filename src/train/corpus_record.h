/* SPDX-License-Identifier: Apache-2.0
 *
 * The corpus that a run is trained on, in its config.json: a hash of the lines of each split, so that a run
 * is neither resumed nor evaluated nor compared on other text.
 *
 *     "corpus": {"training": "0f3a...", "validation": "...", "test": "..."}    64 bits each (task_text_hash)
 *
 * A task that makes up its data as it goes has none.
 */
#ifndef ROTARY_TRAIN_CORPUS_RECORD_H
#define ROTARY_TRAIN_CORPUS_RECORD_H

#include "task/task.h"

/* Sets the key of `object`, unless the task has no corpus. Reads the corpus. */
ROTARY_CHECKED rotary_status corpus_write(json_t *object, const struct task_config *config,
                                          rotary_error *error);
/* Checks that the corpus of `config` is that of the run in `folder`; without `training`, validation and test
 * sets alone. ROTARY_INVALID_ARGUMENT names the split that is another. A run of an earlier version of this
 * program, which recorded none, is allowed. */
ROTARY_CHECKED rotary_status corpus_check(const char *folder, const struct task_config *config, bool training,
                                          rotary_error *error);

#endif
