/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's folder: the names of its files, and whose it is.
 */
#ifndef ROTARY_TRAIN_FOLDER_H
#define ROTARY_TRAIN_FOLDER_H

#include <rotary/status.h>

#define FOLDER_CONFIG    "config.json"
#define FOLDER_METRICS   "metrics.jsonl"
#define FOLDER_MODEL     "model.safetensors"
#define FOLDER_OPTIMIZER "optimizer.safetensors"
#define FOLDER_NEXT      ".next" /* behind a name: what will replace it */

enum folder_state {
    FOLDER_EMPTY,      /* nothing of ours in it, or not there yet */
    FOLDER_RUN,        /* a config.json: a run */
    FOLDER_INCOMPLETE, /* files of a run, but no config.json */
};
ROTARY_CHECKED rotary_status folder_inspect(const char *folder, enum folder_state *state,
                                            rotary_error *error);

/* Keeps other processes from training in `folder` until folder_unlock or the end of this process, however it
 * ends. Where the file system has no locks it does nothing. */
ROTARY_CHECKED rotary_status folder_lock(const char *folder, int *lock, rotary_error *error);
void folder_unlock(int lock);

#endif
