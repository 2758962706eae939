/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of a run in its config.json. It follows from the task, so it is no setting; it is there for
 * whoever reads a run without this program, and is checked when this program reads one.
 *
 *     "vocabulary": ["a", "b", ...]        the text of each token, in the order of their ids; a token that is
 *                                          not UTF-8 text, or has a zero byte, is the list of its bytes
 *                                          of a task that makes its vocabulary from a corpus, the name of the
 *                                          file in the run's folder that has it (text/tokenizer/tokenizer.h)
 *     "source_vocabulary": "source.model"  likewise, of what an encoder reads
 *     "vocabulary_hash": "0f3a..."         of the contents of both: of the files, or of the texts of the
 * tokens. Runs with another do not have the same tokens, whatever the names "special_tokens": {"stop": 45,
 * ...}  ids of padding, unknown, begin, end, mask, and stop, which ends an answer; those that there are,
 * absent if there is none
 */
#ifndef ROTARY_TRAIN_FOLDER_VOCABULARY_H
#define ROTARY_TRAIN_FOLDER_VOCABULARY_H

#include "task/task.h"

/* The most bytes of a file that has a vocabulary. */
enum { VOCABULARY_FILE_BYTES = 1 << 30 };

/* Sets the keys of `object`; `task` has its tokenizers. */
void vocabulary_write(json_t *object, const struct task *task);
/* Sets "vocabulary_hash", of what task_save() saved in `folder`. */
ROTARY_CHECKED rotary_status vocabulary_write_hash(json_t *object, const struct task *task,
                                                   const char *folder, rotary_error *error);
/* Moves the keys out of `object` into a new object, which the caller owns; NULL without memory. */
json_t *vocabulary_take(json_t *object);
/* Checks that what vocabulary_take() took from an object read from `path` is the task's vocabulary, `folder`
 * being the run's. A folder of an earlier version of this program, without the keys, is allowed.
 * ROTARY_INVALID_ARGUMENT has the first token that is another. */
ROTARY_CHECKED rotary_status vocabulary_check(const json_t *taken, const struct task_config *config,
                                              const char *folder, const char *path, rotary_error *error);

#endif
