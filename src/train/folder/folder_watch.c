/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/folder_watch.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "train/folder/run_files.h"

#include <string.h>
#include <sys/stat.h>

static rotary_status read_config(const char *folder, char digits[CHECKSUM_TEXT_BYTES], rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    return status == ROTARY_OK ? file_checksum(path, digits, error) : status;
}

rotary_status folder_watch_begin(struct folder_watch *watch, rotary_error *error)
{
    rotary_status status = read_config(watch->folder, watch->config, error);
    return status == ROTARY_OK ? run_files_read(watch->folder, &watch->files, error) : status;
}

/* Whether a path still leads to an open file or folder. */
static bool is_there(const char *path, int file)
{
    struct stat now, begun;
    return stat(path, &now) == 0 && fstat(file, &begun) == 0 && now.st_dev == begun.st_dev &&
           now.st_ino == begun.st_ino;
}

static rotary_status check_config(const struct folder_watch *watch, rotary_error *error)
{
    char digits[CHECKSUM_TEXT_BYTES];
    rotary_error inner;
    if (read_config(watch->folder, digits, &inner) != ROTARY_OK)
        return rotary_fail(error, ROTARY_IO_ERROR,
                           "while the run was trained its configuration went away: %.300s", inner.message);
    if (strcmp(digits, watch->config) == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_IO_ERROR,
                       "%.300s/" FOLDER_CONFIG " was changed while the run was trained", watch->folder);
}

rotary_status folder_watch_check(const struct folder_watch *watch, bool *usable, rotary_error *error)
{
    *usable = false;
    if (!watch->files)
        return ROTARY_OK;
    if (!is_there(watch->folder, watch->folder_file))
        return rotary_fail(
            error, ROTARY_IO_ERROR,
            "the folder %.300s was removed, moved or replaced while the run was trained: nothing more "
            "is written",
            watch->folder);
    rotary_status status = run_files_check(watch->folder, watch->files, "the run", error);
    if (status != ROTARY_OK)
        return status;
    *usable = true;
    if (!is_there(watch->metrics, watch->metrics_file))
        return rotary_fail(
            error, ROTARY_IO_ERROR,
            "%.300s was removed or replaced while the run was trained: the lines in it are lost",
            watch->metrics);
    return check_config(watch, error);
}

void folder_watch_end(struct folder_watch *watch)
{
    json_decref(watch->files);
    watch->files = NULL;
}
