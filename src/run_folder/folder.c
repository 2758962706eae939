/* SPDX-License-Identifier: Apache-2.0 */
#include "run_folder/folder.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder_list.h"
#include "run_folder/run_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *const names[] = {FOLDER_CONFIG,  FOLDER_METRICS, FOLDER_MODEL,        FOLDER_OPTIMIZER,
                                    FOLDER_BEST,    FOLDER_AVERAGE, FOLDER_TRANSLATIONS, FOLDER_PREDICTIONS,
                                    FOLDER_LENGTHS, FOLDER_DECAY,   FOLDER_EVENTS};
const char *const vocabulary_files[VOCABULARY_KINDS][VOCABULARY_FILES] = {
    {"source.json", "target.json", "vocabulary.json"}, {"source.model", "target.model", "vocabulary.model"}};
enum { NAMES = sizeof names / sizeof names[0] };

rotary_status folder_inspect(const char *folder, enum folder_state *state, rotary_error *error)
{
    *state = FOLDER_EMPTY;
    if (run_archive_refuse(folder, error) != ROTARY_OK)
        return ROTARY_IO_ERROR;
    for (int i = 0; i < NAMES && *state == FOLDER_EMPTY; i++) {
        char path[FILE_PATH_BYTES];
        rotary_status status = file_path(path, folder, names[i], error);
        if (status != ROTARY_OK)
            return status;
        bool found;
        status = file_find(path, &found, error);
        if (status != ROTARY_OK)
            return status;
        if (found)
            *state = i == 0 ? FOLDER_RUN : FOLDER_INCOMPLETE;
    }
    return ROTARY_OK;
}

/* "owner/name", as models are named where they are downloaded. */
static bool names_download(const char *folder)
{
    const char *slash = strchr(folder, '/');
    return slash && slash != folder && folder[0] != '.' && slash[1] && !strchr(slash + 1, '/') &&
           strncmp(folder, "runs/", 5) != 0;
}

static rotary_status fail_missing(const char *folder, rotary_error *error)
{
    char under[FILE_PATH_BYTES];
    bool is_under = file_path(under, "runs", folder, error) == ROTARY_OK && access(under, F_OK) == 0;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s is not the folder of a run: there is no such folder%s%s%s", folder,
                       is_under                 ? "; did you mean "
                       : names_download(folder) ? "; models are not downloaded, wanted a folder that has one"
                                                : "",
                       is_under ? under : "", is_under ? "?" : "");
}

rotary_status folder_fail_no_run(const char *folder, rotary_error *error)
{
    struct folder_list runs = {0};
    if (access(folder, F_OK) != 0 && errno == ENOENT)
        return fail_missing(folder, error);
    (void)!folder_list_add_runs(&runs, folder, NULL); /* which are only an example */
    rotary_status status =
        runs.count > 0
            ? rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                          "%s is not the folder of a run, but has folders of runs: wanted one of them, such "
                          "as %s",
                          folder, runs.items[0])
            : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                          "%s is not the folder of a run: it has no " FOLDER_CONFIG, folder);
    folder_list_free(&runs);
    return status;
}

rotary_status folder_fail_incomplete(const char *folder, rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s holds files of a run but no " FOLDER_CONFIG ": wanted another folder by --out",
                       folder);
}

static rotary_status refuse_file(const char *folder, const char *file, const char *path, rotary_error *error)
{
    char name[FILE_PATH_BYTES];
    const char *const input = name;
    rotary_status status = file_path(name, folder, file, error);
    return status == ROTARY_OK ? file_check_output(path, &input, 1, error) : status;
}

rotary_status folder_refuse_output(const char *folder, const char *path, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < NAMES && status == ROTARY_OK; i++)
        status = refuse_file(folder, names[i], path, error);
    for (int i = 0; i < VOCABULARY_KINDS * VOCABULARY_FILES && status == ROTARY_OK; i++)
        status =
            refuse_file(folder, vocabulary_files[i / VOCABULARY_FILES][i % VOCABULARY_FILES], path, error);
    return status;
}

rotary_status folder_refuse_any(const char *path, rotary_error *error)
{
    char folder[PATH_MAX];
    if (!realpath(path, folder)) /* not there, so it replaces nothing */
        return ROTARY_OK;
    *strrchr(folder, '/') = 0; /* a regular file is in a folder; the root of the file system is a folder */
    enum folder_state state;
    rotary_status status = folder[0] ? folder_inspect(folder, &state, error) : ROTARY_OK;
    return status == ROTARY_OK && folder[0] && state == FOLDER_RUN ? folder_refuse_output(folder, path, error)
                                                                   : status;
}

rotary_status folder_lock(const char *folder, int *lock, rotary_error *error)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot open the folder %s: %s", folder, strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return ROTARY_OK;
    close(*lock);
    *lock = -1;
    return rotary_fail(error, ROTARY_IO_ERROR, "another process is training in %s", folder);
}

void folder_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}
