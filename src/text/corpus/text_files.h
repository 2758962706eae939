/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a text that is given by paths of files and folders.
 */
#ifndef ROTARY_TEXT_CORPUS_TEXT_FILES_H
#define ROTARY_TEXT_CORPUS_TEXT_FILES_H

#include <rotary/status.h>

struct text_files {
    char **paths;
    int64_t count, capacity;
};

/* The files among `paths` and those of the folders among them: of each folder by name, folders in it
 * included, without hidden files and without those whose names end in ".tokens" or ".partial".
 * ROTARY_BAD_FILE if there is none, or too many. */
ROTARY_CHECKED rotary_status text_files_find(struct text_files *files, const char *const *paths, int count,
                                             rotary_error *error);
void text_files_free(struct text_files *files); /* zeroed ones too */

#endif
