/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a run's folder without which its weights mean nothing: vocabularies (task/vocabulary_files.h)
 * and the names of labels (task/classification/label_names.h). Every checkpoint names them, each with its
 * checksum:
 *
 *     "files": {"vocabulary.json": "0f3a5c7788990a1b"}     in the metadata, as text
 *
 * so that weights are never loaded beside other files than those that they were trained with.
 */
#ifndef ROTARY_TRAIN_FOLDER_RUN_FILES_H
#define ROTARY_TRAIN_FOLDER_RUN_FILES_H

#include <jansson.h>
#include <rotary/status.h>

#define RUN_FILES "files" /* key of the metadata of a checkpoint */

/* Reads those that the folder has; the caller releases *files. */
ROTARY_CHECKED rotary_status run_files_read(const char *folder, json_t **files, rotary_error *error);
/* Checks that the folder has these files, and no others: ROTARY_BAD_FILE names the first that is another.
 * `owner`: what was written beside them. */
ROTARY_CHECKED rotary_status run_files_check(const char *folder, const json_t *files, const char *owner,
                                             rotary_error *error);

#endif
