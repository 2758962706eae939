/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of a checkpoint (train/folder/checkpoint.h) say of themselves: which run they are of.
 */
#ifndef ROTARY_TRAIN_FOLDER_CHECKPOINT_METADATA_H
#define ROTARY_TRAIN_FOLDER_CHECKPOINT_METADATA_H

#include "file/safetensors.h"
#include "train/run.h"

/* The metadata of every file, which the caller releases: format, program, step, the configuration of the run
 * as it is when the file is written, and of that once more what one looks for first; and the files of the
 * run's folder (train/folder/run_files.h). */
ROTARY_CHECKED rotary_status checkpoint_describe(json_t **metadata, const char *folder,
                                                 const struct run_config *config, int64_t step_done,
                                                 rotary_error *error);
/* Checks that the file, read from `path`, is of this configuration, and that its folder has the files that it
 * was written beside; else ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status checkpoint_check_run(const struct safetensors *file, const char *path,
                                                  const struct run_config *config, rotary_error *error);
/* ROTARY_BAD_FILE: a key of the metadata is missing or wrong. */
rotary_status checkpoint_fail_metadata(const char *path, const char *key, rotary_error *error);

#endif
