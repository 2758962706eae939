/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hint/nested_runs.h"

#include "base/fail.h"
#include "file/file.h"
#include "records/comparison/comparison_file.h"
#include "run_folder/folder_list.h"
#include "run_folder/run_archive.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the folder is a comparison or a run, or has one of these in it. What cannot be read has none. */
static bool holds_runs(const char *folder)
{
    struct folder_list runs = {0};
    bool run = false;
    if (comparison_file_exists(folder) || (folder_is_run(folder, &run, NULL) == ROTARY_OK && run))
        return true;
    (void)!folder_list_add_runs(&runs, folder, NULL);
    const bool holds = runs.count > 0;
    folder_list_free(&runs);
    return holds;
}

/* The name of the first folder in `folder` that holds runs; false: none does. */
static bool find_nested(const char *folder, char name[FILE_PATH_BYTES])
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, file_entry_order);
    bool found = false;
    for (int i = 0; i < count; i++) {
        char path[FILE_PATH_BYTES];
        if (!found && entries[i]->d_name[0] != '.' &&
            file_path(path, folder, entries[i]->d_name, NULL) == ROTARY_OK && holds_runs(path)) {
            snprintf(name, FILE_PATH_BYTES, "%s", entries[i]->d_name);
            found = true;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return found;
}

rotary_status nested_runs_name(const char *const *paths, int count, rotary_error *error)
{
    const rotary_status status = error->status;
    struct run_archives archives = {0};
    for (int i = 0; i < count; i++) {
        char folder[FILE_PATH_BYTES], name[FILE_PATH_BYTES];
        if (run_archives_open(&archives, paths[i], folder, NULL) != ROTARY_OK || holds_runs(folder))
            continue;
        if (!find_nested(folder, name))
            continue;
        (void)!rotary_fail(
            error, status,
            "%s holds neither a run nor a comparison, but folders that do: wanted one of them, "
            "such as %s/%.200s",
            paths[i], paths[i], name);
        break;
    }
    run_archives_close(&archives);
    return status;
}
