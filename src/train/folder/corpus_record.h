/* SPDX-License-Identifier: Apache-2.0
 *
 * The corpus that a run is trained on, in its config.json: a hash of the lines of each split, so that a run
 * is neither resumed nor evaluated nor compared on other text.
 *
 *     "corpus": {"training": "0f3a...", "validation": "...", "test": "..."}    64 bits each (task_text_hash)
 *
 * A task that makes up its data as it goes has none.
 */
#ifndef ROTARY_TRAIN_FOLDER_CORPUS_RECORD_H
#define ROTARY_TRAIN_FOLDER_CORPUS_RECORD_H

#include "task/task.h"

enum { CORPUS_HASH_BYTES = 17 };

/* The hashes of a corpus, as config.json has them. */
struct corpus {
    bool read;                                   /* the rest is set */
    const char *task;                            /* its name */
    enum task_split first;                       /* splits before it were not read */
    char hashes[TASK_SPLITS][CORPUS_HASH_BYTES]; /* "": there is no text */
};
/* Reads the corpus, from split `first` on. */
ROTARY_CHECKED rotary_status corpus_read(struct corpus *corpus, const struct task_config *config,
                                         enum task_split first, rotary_error *error);
/* Sets the key of `object`, unless the task has no corpus. */
void corpus_write(json_t *object, const struct corpus *corpus);
/* Checks that the corpus is that of the run in `folder`, in the splits that were read.
 * ROTARY_INVALID_ARGUMENT names the split that is another. A run of an earlier version of this program, which
 * recorded none, is allowed. */
ROTARY_CHECKED rotary_status corpus_check(const struct corpus *corpus, const char *folder,
                                          rotary_error *error);
/* Both: reads the corpus of `config` and checks that it is that of the run in `folder`. */
ROTARY_CHECKED rotary_status corpus_check_config(const struct task_config *config, enum task_split first,
                                                 const char *folder, rotary_error *error);

#endif
