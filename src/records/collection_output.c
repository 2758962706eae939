/* SPDX-License-Identifier: Apache-2.0
 *
 * That a page does not replace what it was made from, nor a file of another run.
 */
#include "file/file.h"
#include "records/collection.h"
#include "run_folder/folder.h"

rotary_status collection_check_output(const struct collection *collection, const char *const *folders,
                                      int count, const char *path, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        char file[FILE_PATH_BYTES];
        const char *const input = file;
        if (!run_archive_find(folders[i], file))
            status = file_path(file, folders[i], "compare.json", error);
        if (status == ROTARY_OK)
            status = file_check_output(path, &input, 1, error);
    }
    for (int i = 0; status == ROTARY_OK && i < collection->record_count; i++)
        status = folder_refuse_output(collection->records[i].folder, path, error);
    return status == ROTARY_OK ? folder_refuse_any(path, error) : status;
}
