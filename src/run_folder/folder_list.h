/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of runs and of comparisons, by their paths.
 */
#ifndef ROTARY_RUN_FOLDER_FOLDER_LIST_H
#define ROTARY_RUN_FOLDER_FOLDER_LIST_H

#include <rotary/status.h>
#include <stdbool.h>

struct folder_list {
    char **items;
    int count;
};

/* Whether the folder is that of a run: it has a config.json. */
ROTARY_CHECKED rotary_status folder_is_run(const char *folder, bool *found, rotary_error *error);
/* Appends a copy of a path. */
ROTARY_CHECKED rotary_status folder_list_add(struct folder_list *list, const char *folder,
                                             rotary_error *error);
/* Appends the runs in a folder, in the order of their names; none if it cannot be read. */
ROTARY_CHECKED rotary_status folder_list_add_runs(struct folder_list *list, const char *folder,
                                                  rotary_error *error);
void folder_list_free(struct folder_list *list);

#endif
