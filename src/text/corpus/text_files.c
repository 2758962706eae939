/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/text_files.h"

#include "base/fail.h"
#include "file/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 1 << 22, MAX_DEPTH = 32 };

static rotary_status add(struct text_files *files, const char *path, rotary_error *error)
{
    if (files->count == MAX_FILES)
        return rotary_fail(error, ROTARY_BAD_FILE, "the text has more than %d files, the maximum", MAX_FILES);
    if (files->count == files->capacity) {
        const int64_t capacity = files->capacity > 0 ? 2 * files->capacity : 16;
        char **larger = realloc(files->paths, (size_t)capacity * sizeof *larger);
        if (!larger)
            return rotary_fail_memory(error, "for a list of files");
        files->paths = larger;
        files->capacity = capacity;
    }
    files->paths[files->count] = strdup(path);
    return files->paths[files->count++] ? ROTARY_OK : rotary_fail_memory(error, "for a list of files");
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), count = strlen(end);
    return length >= count && strcmp(name + length - count, end) == 0;
}

static int is_wanted(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return name[0] != '.' && !ends_in(name, ".tokens") && !ends_in(name, ".partial");
}

/* By bytes, whatever the locale. */
/* The recursion ends at MAX_DEPTH: links may lead upwards. */
static rotary_status add_path(struct text_files *files, const char *path, int depth, rotary_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot open %.350s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return add(files, path, error);
    if (depth == MAX_DEPTH)
        return rotary_fail(error, ROTARY_BAD_FILE, "%.350s: there are more than %d folders one in another",
                           path, MAX_DEPTH);
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, is_wanted, file_entry_order);
    if (count < 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot read the folder %.350s: %s", path,
                           strerror(errno));
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++) {
        char inner[FILE_PATH_BYTES];
        if (status == ROTARY_OK)
            status = file_path(inner, path, entries[i]->d_name, error);
        if (status == ROTARY_OK)
            status = add_path(files, inner, depth + 1, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

rotary_status text_files_find(struct text_files *files, const char *const *paths, int count,
                              rotary_error *error)
{
    *files = (struct text_files){0};
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count && status == ROTARY_OK; i++)
        status = add_path(files, paths[i], 0, error);
    if (status == ROTARY_OK && files->count == 0)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%.350s has no file of text", count > 0 ? paths[0] : "");
    if (status != ROTARY_OK)
        text_files_free(files);
    return status;
}

void text_files_free(struct text_files *files)
{
    for (int64_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct text_files){0};
}
