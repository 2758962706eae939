/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "file/compressed/decompressed.h"
#include "run_folder/folder.h"
#include "run_folder/run_archive.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kept[] = {"compare.json", FOLDER_CONFIG,       FOLDER_METRICS,     FOLDER_LENGTHS,
                                   FOLDER_DECAY,   FOLDER_TRANSLATIONS, FOLDER_PREDICTIONS, FOLDER_LABELS};

bool run_archive_keeps(const char *name)
{
    const char *last = file_name_of(name);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(last, kept[i]) == 0)
            return true;
    return false;
}

bool run_archive_find(const char *path, char file[FILE_PATH_BYTES])
{
    struct stat about;
    size_t length = strlen(path);
    if (length >= FILE_PATH_BYTES)
        return false;
    memcpy(file, path, length + 1);
    while (stat(file, &about) != 0) {
        char *slash = strrchr(file, '/');
        if (!slash || slash == file)
            return false;
        *slash = 0;
    }
    return S_ISREG(about.st_mode);
}

rotary_status run_archive_page(const char *path, char page[FILE_PATH_BYTES], rotary_error *error)
{
    char file[FILE_PATH_BYTES] = "", folder[FILE_PATH_BYTES], name[FILE_PATH_BYTES];
    (void)run_archive_find(path, file);
    const char *slash = strrchr(file, '/'), *rest = path + strlen(file);
    const size_t first = slash ? (size_t)(slash + 1 - file) : 0;
    size_t length;
    (void)compression_of(file, &length);
    if (length > first + 4 && strncmp(file + length - 4, ".tar", 4) == 0)
        length -= 4;
    int bytes = snprintf(name, sizeof name, "%.*s%s", (int)(length - first), file + first, rest);
    while (bytes > 1 && name[bytes - 1] == '/')
        name[--bytes] = 0;
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '-' : *c;
    if ((size_t)bytes + sizeof ".html" > sizeof name)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%.80s... is too long: wanted --out", path);
    strcpy(name + bytes, ".html");
    rotary_status status = file_folder_of(file, folder, error);
    if (status == ROTARY_OK)
        status = file_output_path(page, folder, name, error);
    if (status == ROTARY_OK && !slash)
        memcpy(page, name, strlen(name) + 1);
    return status;
}

/* Whether a file of this name stands in the folder of a run or a model. */
static bool is_of_run(const char *file)
{
    static const char *const names[] = {"config.json", "metrics.jsonl", "report.html"};
    const char *const name = file_name_of(file), *const dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return dot && strcmp(dot, ".safetensors") == 0;
}

rotary_status run_archive_refuse(const char *path, rotary_error *error)
{
    char file[FILE_PATH_BYTES];
    if (!run_archive_find(path, file))
        return ROTARY_OK;
    char folder[FILE_PATH_BYTES] = "";
    const char *const below = strcmp(path, file) == 0 ? "" : "below ";
    size_t length;
    (void)compression_of(file, &length);
    if (length > 4 && strncmp(file + length - 4, ".tar", 4) == 0)
        return rotary_fail(
            error, ROTARY_IO_ERROR,
            "%s is %sa file, wanted a run's folder; `tar -xf` unpacks an archive of runs, which "
            "holds no weights",
            path, below);
    if (is_of_run(file) && !*below)
        (void)!file_folder_of(file, folder, error);
    return rotary_fail(error, ROTARY_IO_ERROR, "%s is %sa file, wanted a run's folder%s%s", path, below,
                       *folder ? ": " : "", folder);
}
