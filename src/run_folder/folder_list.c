/* SPDX-License-Identifier: Apache-2.0 */
#include "run_folder/folder_list.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <stdlib.h>
#include <string.h>

rotary_status folder_is_run(const char *folder, bool *found, rotary_error *error)
{
    char config[FILE_PATH_BYTES];
    rotary_status status = file_path(config, folder, FOLDER_CONFIG, error);
    return status == ROTARY_OK ? file_find(config, found, error) : status;
}

rotary_status folder_list_add(struct folder_list *list, const char *folder, rotary_error *error)
{
    char **items = realloc(list->items, (size_t)(list->count + 1) * sizeof *items);
    if (items)
        list->items = items;
    char *copy = items ? strdup(folder) : NULL;
    if (!copy)
        return rotary_fail_memory(error, "for the names of folders");
    list->items[list->count++] = copy;
    return ROTARY_OK;
}

static rotary_status add_if_run(struct folder_list *list, const char *folder, const char *name,
                                rotary_error *error)
{
    char run[FILE_PATH_BYTES];
    bool found = false;
    rotary_status status = file_path(run, folder, name, error);
    if (status == ROTARY_OK)
        status = folder_is_run(run, &found, error);
    return found ? folder_list_add(list, run, error) : status;
}

rotary_status folder_list_add_runs(struct folder_list *list, const char *folder, rotary_error *error)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, file_entry_order);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && status == ROTARY_OK)
            status = add_if_run(list, folder, entries[i]->d_name, error);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

void folder_list_free(struct folder_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}
