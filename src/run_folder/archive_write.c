/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "file/archive/tar.h"
#include "run_folder/folder.h"
#include "run_folder/run_archive.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct packing {
    const char *path; /* of the archive */
    struct tar_writer tar;
    struct archive_size size;
    int64_t runs;
};

/* A file or folder: where it is, its name in the archive, and how many folders it is below the first. */
struct place {
    char path[FILE_PATH_BYTES], name[FILE_PATH_BYTES];
    int depth;
};

static rotary_status add_file(struct packing *packing, const struct place *place, rotary_error *error)
{
    const char *const input = place->path;
    char *bytes;
    size_t count;
    rotary_status status = file_check_output(packing->path, &input, 1, error);
    if (status == ROTARY_OK)
        status = file_read(place->path, COMPRESSED_MAX_BYTES, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    packing->size.files++;
    packing->size.bytes += count;
    packing->runs += strcmp(file_name_of(place->name), FOLDER_CONFIG) == 0;
    if (packing->size.files > ARCHIVE_MAX_FILES || packing->size.bytes > COMPRESSED_MAX_BYTES / 2)
        status = rotary_fail(error, ROTARY_UNSUPPORTED,
                             "%s would hold more than %d files or %d bytes: wanted fewer runs", packing->path,
                             (int)ARCHIVE_MAX_FILES, (int)(COMPRESSED_MAX_BYTES / 2));
    else
        status = tar_add(&packing->tar, place->name, bytes, count, error);
    free(bytes);
    return status;
}

static rotary_status add_folder(struct packing *packing, const struct place *place, rotary_error *error);

static rotary_status add_entry(struct packing *packing, const struct place *place, const char *entry,
                               rotary_error *error)
{
    struct stat about;
    struct place *below = malloc(sizeof *below);
    if (!below)
        return rotary_fail_memory(error, "for the names of an archive");
    below->depth = place->depth + 1;
    rotary_status status = file_path(below->path, place->path, entry, error);
    if (status == ROTARY_OK)
        status = file_path(below->name, place->name, entry, error);
    if (status == ROTARY_OK && stat(below->path, &about) == 0) {
        if (S_ISREG(about.st_mode) && run_archive_keeps(entry))
            status = add_file(packing, below, error);
        else if (S_ISDIR(about.st_mode) && entry[0] != '.')
            status = add_folder(packing, below, error);
    }
    free(below);
    return status;
}

static rotary_status add_folder(struct packing *packing, const struct place *place, rotary_error *error)
{
    struct dirent **entries;
    if (place->depth > ARCHIVE_MAX_DEPTH)
        return ROTARY_OK;
    const int count = scandir(place->path, &entries, NULL, file_entry_order);
    if (count < 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot open the folder %s: %s", place->path,
                           strerror(errno));
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++) {
        if (status == ROTARY_OK)
            status = add_entry(packing, place, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* An archive has one folder, named as the one that is packed. */
static rotary_status place_folder(struct place *place, const char *folder, rotary_error *error)
{
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot open the folder %s: %s", folder, strerror(errno));
    const char *name = strrchr(real, '/') + 1;
    if (!name[0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has no name: wanted a folder of runs", folder);
    *place = (struct place){.depth = 0};
    snprintf(place->path, sizeof place->path, "%s", folder);
    snprintf(place->name, sizeof place->name, "%s", name);
    return ROTARY_OK;
}

rotary_status run_archive_write(const char *folder, const char *path, struct archive_size *size,
                                rotary_error *error)
{
    struct packing packing = {.path = path};
    struct place place;
    rotary_status status = folder_refuse_any(path, error);
    if (status == ROTARY_OK)
        status = place_folder(&place, folder, error);
    if (status == ROTARY_OK)
        status = add_folder(&packing, &place, error);
    if (status == ROTARY_OK && packing.runs == 0)
        status = rotary_fail(error, ROTARY_IO_ERROR,
                             "%s holds neither a run nor a comparison: wanted a " FOLDER_CONFIG
                             " in it or in a folder below it",
                             folder);
    if (status == ROTARY_OK)
        status = tar_end(&packing.tar, error);
    if (status == ROTARY_OK)
        status = compressed_replace(path, packing.tar.bytes, packing.tar.count, error);
    tar_writer_free(&packing.tar);
    *size = packing.size;
    return status;
}
