/* SPDX-License-Identifier: Apache-2.0 */
#include "records/places.h"

#include "records/comparison/comparison_file.h"

/* The folder itself where it holds no run, so that whoever reads it says so. */
static rotary_status add_runs(struct folder_list *places, const char *folder, rotary_error *error)
{
    const int before = places->count;
    rotary_status status = folder_list_add_runs(places, folder, error);
    return status == ROTARY_OK && places->count == before ? folder_list_add(places, folder, error) : status;
}

rotary_status places_add(struct folder_list *places, struct run_archives *archives, const char *path,
                         rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    bool run = false;
    rotary_status status = run_archives_open(archives, path, folder, error);
    if (status == ROTARY_OK)
        status = folder_is_run(folder, &run, error);
    if (status != ROTARY_OK)
        return status;
    return run || comparison_file_exists(folder) ? folder_list_add(places, folder, error)
                                                 : add_runs(places, folder, error);
}
