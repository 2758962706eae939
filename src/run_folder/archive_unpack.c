/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "file/archive/tar.h"
#include "run_folder/run_archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `folder`: where it is unpacked; `root`: the folder in it that was packed, or itself. */
struct run_archive {
    char file[FILE_PATH_BYTES], folder[FILE_PATH_BYTES], root[FILE_PATH_BYTES];
};

/* ---- unpacking ---- */

static rotary_status fail_unpack(const struct run_archive *archive, rotary_error *error)
{
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot unpack %s in %s: %s", archive->file, archive->folder,
                       strerror(errno));
}

static rotary_status make_folder(struct run_archive *archive, rotary_error *error)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !temporary[0])
        temporary = "/tmp";
    rotary_status status = file_path(archive->folder, temporary, "rotary-XXXXXX", error);
    if (status != ROTARY_OK || mkdtemp(archive->folder))
        return status;
    archive->folder[0] = 0;
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot unpack %s in %s: %s: wanted another folder in TMPDIR",
                       archive->file, temporary, strerror(errno));
}

/* Makes a file of a member, and the folders that it is in. */
static rotary_status create_file(const struct run_archive *archive, const char *name, int *file,
                                 rotary_error *error)
{
    char path[FILE_PATH_BYTES], parent[FILE_PATH_BYTES];
    rotary_status status = file_path(path, archive->folder, name, error);
    if (status == ROTARY_OK)
        status = file_folder_of(path, parent, error);
    if (status == ROTARY_OK)
        status = file_make_folder(parent, error);
    if (status != ROTARY_OK)
        return status;
    *file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (*file >= 0)
        return ROTARY_OK;
    return errno == EEXIST ? rotary_fail(error, ROTARY_BAD_FILE, "%s has %s twice", archive->file, name)
                           : fail_unpack(archive, error);
}

static rotary_status copy_member(const struct run_archive *archive, struct tar_reader *tar, int file,
                                 rotary_error *error)
{
    char bytes[1 << 14];
    size_t got = 1;
    while (got > 0) {
        rotary_status status = tar_read(tar, bytes, sizeof bytes, &got, error);
        if (status != ROTARY_OK)
            return status;
        for (size_t written = 0; written < got;) {
            const ssize_t now = write(file, bytes + written, got - written);
            if (now < 0 && errno != EINTR)
                return fail_unpack(archive, error);
            written += now > 0 ? (size_t)now : 0;
        }
    }
    return ROTARY_OK;
}

static rotary_status unpack_member(const struct run_archive *archive, struct tar_reader *tar,
                                   const char *name, rotary_error *error)
{
    int file;
    rotary_status status = create_file(archive, name, &file, error);
    if (status != ROTARY_OK)
        return status;
    status = copy_member(archive, tar, file, error);
    if (close(file) != 0 && status == ROTARY_OK)
        status = fail_unpack(archive, error);
    return status;
}

/* How much was unpacked: an archive of a few bytes may hold many. */
static rotary_status count_member(const struct run_archive *archive, const struct tar_member *member,
                                  struct archive_size *size, rotary_error *error)
{
    size->files++;
    size->bytes += member->size;
    if (size->files <= ARCHIVE_MAX_FILES && size->bytes <= COMPRESSED_MAX_BYTES)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s holds more than %d files or %d bytes of runs",
                       archive->file, (int)ARCHIVE_MAX_FILES, (int)COMPRESSED_MAX_BYTES);
}

static rotary_status unpack(const struct run_archive *archive, rotary_error *error)
{
    struct tar_reader tar;
    struct tar_member member;
    struct archive_size size = {0};
    bool found = true;
    rotary_status status = tar_open(&tar, archive->file, error);
    while (status == ROTARY_OK && found) {
        status = tar_next(&tar, &member, &found, error);
        if (status != ROTARY_OK || !found || member.folder || !run_archive_keeps(member.name))
            continue;
        status = count_member(archive, &member, &size, error);
        if (status == ROTARY_OK)
            status = unpack_member(archive, &tar, member.name, error);
    }
    if (status == ROTARY_OK && size.files == 0)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s holds no files of runs", archive->file);
    tar_close(&tar);
    return status;
}

/* What was unpacked may be one folder, which then is the one that was packed. */
static rotary_status find_root(struct run_archive *archive, rotary_error *error)
{
    struct dirent **entries;
    struct stat about;
    const int count = scandir(archive->folder, &entries, NULL, NULL);
    if (count < 0)
        return fail_unpack(archive, error);
    memcpy(archive->root, archive->folder, sizeof archive->root);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (count == 3 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            status = file_path(archive->root, archive->folder, name, error);
        free(entries[i]);
    }
    free(entries);
    if (status == ROTARY_OK && (stat(archive->root, &about) != 0 || !S_ISDIR(about.st_mode)))
        memcpy(archive->root, archive->folder, sizeof archive->root);
    return status;
}

/* ---- archives ---- */

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    (void)walk;
    remove(path);
    return 0;
}

static void remove_folder(const struct run_archive *archive)
{
    enum { OPEN_FOLDERS = 16 };
    if (archive->folder[0])
        nftw(archive->folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static struct run_archive *find_archive(const struct run_archives *archives, const char *file)
{
    for (int i = 0; i < archives->count; i++)
        if (strcmp(archives->items[i].file, file) == 0)
            return &archives->items[i];
    return NULL;
}

static rotary_status add_archive(struct run_archives *archives, const char *file, rotary_error *error)
{
    struct run_archive *items = realloc(archives->items, (size_t)(archives->count + 1) * sizeof *items);
    if (!items)
        return rotary_fail_memory(error, "to read %s", file);
    archives->items = items;
    struct run_archive *archive = &items[archives->count];
    *archive = (struct run_archive){.folder = ""};
    snprintf(archive->file, sizeof archive->file, "%s", file);
    rotary_status status = make_folder(archive, error);
    if (status == ROTARY_OK)
        status = unpack(archive, error);
    if (status == ROTARY_OK)
        status = find_root(archive, error);
    if (status == ROTARY_OK)
        archives->count++;
    else
        remove_folder(archive);
    return status;
}

rotary_status run_archives_open(struct run_archives *archives, const char *path, char folder[FILE_PATH_BYTES],
                                rotary_error *error)
{
    char file[FILE_PATH_BYTES];
    if (!run_archive_find(path, file)) {
        const size_t length = strlen(path);
        if (length >= FILE_PATH_BYTES)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                               length, path);
        memcpy(folder, path, length + 1);
        return ROTARY_OK;
    }
    rotary_status status = find_archive(archives, file) ? ROTARY_OK : add_archive(archives, file, error);
    if (status != ROTARY_OK)
        return status;
    const char *root = find_archive(archives, file)->root, *rest = path + strlen(file);
    rest += strspn(rest, "/");
    if (rest[0])
        return file_path(folder, root, rest, error);
    memcpy(folder, root, strlen(root) + 1);
    return ROTARY_OK;
}

/* The bytes of a path that are where the archive is unpacked; 0: it is not below that. */
static size_t root_bytes(const struct run_archive *archive, const char *path)
{
    const size_t length = strlen(archive->root);
    const bool below = strncmp(path, archive->root, length) == 0;
    return below && (path[length] == '/' || path[length] == 0) ? length : 0;
}

char *run_archives_shown(const struct run_archives *archives, const char *path)
{
    for (int i = 0; i < archives->count; i++) {
        const struct run_archive *archive = &archives->items[i];
        const size_t root = root_bytes(archive, path);
        char *shown = root ? malloc(strlen(archive->file) + strlen(path) + 1) : NULL;
        if (shown)
            strcpy(stpcpy(shown, archive->file), path + root);
        if (root)
            return shown;
    }
    return NULL;
}

void run_archives_name(const struct run_archives *archives, rotary_error *error)
{
    for (int i = 0; error && i < archives->count; i++) {
        const struct run_archive *archive = &archives->items[i];
        for (char *at = error->message; (at = strstr(at, archive->root)); at += strlen(archive->file)) {
            char rest[sizeof error->message];
            const size_t room = sizeof error->message - (size_t)(at - error->message);
            snprintf(rest, sizeof rest, "%s", at + strlen(archive->root));
            snprintf(at, room, "%s%s", archive->file, rest);
            if (strlen(archive->file) >= room)
                break;
        }
    }
}

void run_archives_close(struct run_archives *archives)
{
    for (int i = 0; i < archives->count; i++)
        remove_folder(&archives->items[i]);
    free(archives->items);
    *archives = (struct run_archives){0};
}
