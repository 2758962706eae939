/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder that a task's setting names as that of its texts. What is wrong with it is said once, for all
 * tasks.
 */
#ifndef ROTARY_TASK_CORPUS_FOLDER_H
#define ROTARY_TASK_CORPUS_FOLDER_H

#include <rotary/status.h>

/* ROTARY_IO_ERROR if `folder`, the value of the setting `task`_data, is a file or is not there; the message
 * says where the texts of presets are from. ROTARY_OK for anything else: what the folder lacks, its files
 * say. */
ROTARY_CHECKED rotary_status corpus_folder_check(const char *task, const char *folder, rotary_error *error);

#endif
