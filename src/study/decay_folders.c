/* SPDX-License-Identifier: Apache-2.0 */
#include "study/decay_folders.h"

#include "base/fail.h"
#include "records/collection.h"

#include <stdlib.h>
#include <string.h>

void decay_folders_free(struct decay_folders *folders)
{
    for (int i = 0; i < folders->count; i++)
        free(folders->items[i]);
    free(folders->items);
}

static rotary_status add_folder(struct decay_folders *folders, const char *folder, rotary_error *error)
{
    char **items = realloc(folders->items, (size_t)(folders->count + 1) * sizeof *items);
    if (items)
        folders->items = items;
    char *copy = items ? strdup(folder) : NULL;
    if (!copy)
        return rotary_fail_memory(error, "for the names of folders");
    folders->items[folders->count++] = copy;
    return ROTARY_OK;
}

/* The first run of each arm, by seed. */
static rotary_status add_comparison(struct decay_folders *folders, const char *folder, rotary_error *error)
{
    struct collection collection;
    rotary_status status = collection_read(&collection, &folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    const struct comparison *comparison = collection.comparison;
    const int before = folders->count;
    for (int i = 0; status == ROTARY_OK && i < comparison->arm_count; i++)
        if (comparison->arms[i].run_count > 0)
            status = add_folder(folders, comparison->records[comparison->arms[i].runs[0]].folder, error);
    if (status == ROTARY_OK && folders->count == before)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%s: no run of the comparison is finished, wanted at least one", folder);
    collection_free(&collection);
    return status;
}

rotary_status decay_folders_find(struct decay_folders *found, const char *const *folders, int count,
                                 rotary_error *error)
{
    *found = (struct decay_folders){0};
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++)
        status = comparison_file_exists(folders[i]) ? add_comparison(found, folders[i], error)
                                                    : add_folder(found, folders[i], error);
    return status;
}
