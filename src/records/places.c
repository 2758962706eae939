/* SPDX-License-Identifier: Apache-2.0 */
#include "records/places.h"

#include "base/fail.h"
#include "records/comparison/comparison_file.h"
#include "run_folder/folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static rotary_status add(struct places *places, const char *folder, rotary_error *error)
{
    char **items = realloc(places->items, (size_t)(places->count + 1) * sizeof *items);
    if (items)
        places->items = items;
    char *copy = items ? strdup(folder) : NULL;
    if (!copy)
        return rotary_fail_memory(error, "for the names of folders");
    places->items[places->count++] = copy;
    return ROTARY_OK;
}

static rotary_status is_run(const char *folder, bool *found, rotary_error *error)
{
    char config[FILE_PATH_BYTES];
    rotary_status status = file_path(config, folder, FOLDER_CONFIG, error);
    return status == ROTARY_OK ? file_find(config, found, error) : status;
}

static int compare_entries(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* The folder itself where it holds no run, so that whoever reads it says so. */
static rotary_status add_runs(struct places *places, const char *folder, rotary_error *error)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, compare_entries), before = places->count;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++) {
        char run[FILE_PATH_BYTES];
        bool found = false;
        if (entries[i]->d_name[0] != '.' && status == ROTARY_OK)
            status = file_path(run, folder, entries[i]->d_name, error);
        if (entries[i]->d_name[0] != '.' && status == ROTARY_OK)
            status = is_run(run, &found, error);
        if (found)
            status = add(places, run, error);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status == ROTARY_OK && places->count == before ? add(places, folder, error) : status;
}

rotary_status places_add(struct places *places, struct run_archives *archives, const char *path,
                         rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    bool run = false;
    rotary_status status = run_archives_open(archives, path, folder, error);
    if (status == ROTARY_OK)
        status = is_run(folder, &run, error);
    if (status != ROTARY_OK)
        return status;
    return run || comparison_file_exists(folder) ? add(places, folder, error)
                                                 : add_runs(places, folder, error);
}

void places_free(struct places *places)
{
    for (int i = 0; i < places->count; i++)
        free(places->items[i]);
    free(places->items);
}
