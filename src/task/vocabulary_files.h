/* SPDX-License-Identifier: Apache-2.0
 *
 * The files in which a task saves its vocabularies, in the folder of a run, and how pieces are learned.
 */
#ifndef ROTARY_TASK_VOCABULARY_FILES_H
#define ROTARY_TASK_VOCABULARY_FILES_H

#include "run_folder/folder.h"
#include "task/task_type.h"
#include "text/tokenizer/sentencepiece.h"

/* Loads a task's one tokenizer from a file, and sets the name of the file that it is saved in. */
ROTARY_CHECKED rotary_status vocabulary_load(struct task *task, const char *path, rotary_error *error);
/* Checks that the setting TASK_vocabulary names a file, as TASK_tokenizer is file. */
ROTARY_CHECKED rotary_status vocabulary_check_named(const char *task, const char *path, rotary_error *error);
/* Writes the path of the shared vocabulary in the folder of a run or of a Hugging Face model, by whichever
 * of its names it is there. `path` has room for FILE_PATH_BYTES. */
ROTARY_CHECKED rotary_status vocabulary_find(char *path, const char *folder, bool *found,
                                             rotary_error *error);
/* Reads likewise; a folder without one is ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status vocabulary_find_saved(char *path, const char *folder, rotary_error *error);

/* Trains a SentencePiece model, in the store of the task's configuration if it has one, which then lends it
 * to the task. */
ROTARY_CHECKED rotary_status vocabulary_train_pieces(struct task *task, struct tokenizer **tokenizer,
                                                     const struct sentencepiece_config *config,
                                                     const struct text_line *lines, int64_t count,
                                                     rotary_error *error);

#endif
