/* SPDX-License-Identifier: Apache-2.0
 *
 * That a page does not replace what it was made from.
 */
#include "file/file.h"
#include "study/collection.h"
#include "train/folder.h"

static rotary_status check_folder(const char *folder, const char *const *names, int count, const char *path,
                                  rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        char file[FILE_PATH_BYTES];
        const char *const input = file;
        status = file_path(file, folder, names[i], error);
        if (status == ROTARY_OK)
            status = file_check_output(path, &input, 1, error);
    }
    return status;
}

rotary_status collection_check_output(const struct collection *collection, const char *const *folders,
                                      int count, const char *path, rotary_error *error)
{
    static const char *const of_run[] = {FOLDER_CONFIG, FOLDER_METRICS, FOLDER_MODEL, FOLDER_OPTIMIZER,
                                         FOLDER_BEST},
                             *const of_comparison = "compare.json";
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++)
        status = check_folder(folders[i], &of_comparison, 1, path, error);
    for (int i = 0; status == ROTARY_OK && i < collection->record_count; i++)
        status =
            check_folder(collection->records[i].folder, of_run, sizeof of_run / sizeof *of_run, path, error);
    return status;
}
