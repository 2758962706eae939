/* SPDX-License-Identifier: Apache-2.0 */
#include "file/file.h"

#include "base/fail.h"
#include "file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 64 * 1024, SHOWN_BYTES = 350 };
enum { READER_ATTEMPTS = 100, READER_NANOSECONDS = 10 * 1000 * 1000 }; /* a second */
#define PARTIAL ".partial" /* suffix of what is to replace a file */

static rotary_status fail_system(rotary_error *error, const char *doing, const char *path)
{
    /* Only a part of the longest paths is shown, so that the reason is not cut off. */
    const char *more = strlen(path) > SHOWN_BYTES ? "..." : "";
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot %s %.*s%s: %s", doing, (int)SHOWN_BYTES, path, more,
                       strerror(errno));
}

rotary_status file_path(char path[FILE_PATH_BYTES], const char *folder, const char *name, rotary_error *error)
{
    if (folder[0] == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the name of a folder is empty");
    int length = snprintf(path, FILE_PATH_BYTES, "%s/%s", folder, name);
    if (length < 0 || length >= FILE_PATH_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the path %.80s... is too long: wanted below %d bytes", folder,
                           (int)FILE_PATH_BYTES);
    return ROTARY_OK;
}

rotary_status file_output_path(char path[FILE_PATH_BYTES], const char *folder, const char *name,
                               rotary_error *error)
{
    struct stat about;
    rotary_status status = file_path(path, folder, name, error);
    if (status != ROTARY_OK || lstat(path, &about) != 0 || !S_ISLNK(about.st_mode))
        return status;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s is a symbolic link, and the file that it leads to would be replaced: remove the link", path);
}

/* Reads the rest of a file into a growing block, of `first` bytes to begin with. */
static rotary_status read_rest(struct input *input, size_t first, size_t max, char **bytes, size_t *count,
                               rotary_error *error)
{
    char *block = NULL;
    size_t used = 0, capacity = 0, got = 0;
    rotary_status status = ROTARY_OK;
    do {
        size_t wanted = capacity ? 2 * capacity : first;
        char *larger = wanted > capacity && wanted < SIZE_MAX ? realloc(block, wanted + 1) : NULL;
        if (!larger) {
            status =
                rotary_fail_memory(error, "to read %s, which has more than %zu bytes", input->path, used);
            break;
        }
        block = larger;
        capacity = wanted;
        status = input_read(input, block + used, capacity - used, &got, error);
        used += got;
        if (status == ROTARY_OK && used > max)
            status = rotary_fail(error, ROTARY_BAD_FILE,
                                 "%s has more than %zu bytes, the maximum for such a file", input->path, max);
    } while (status == ROTARY_OK && used == capacity);
    if (status != ROTARY_OK) {
        free(block);
        return status;
    }
    block[used] = 0;
    *bytes = block;
    *count = used;
    return ROTARY_OK;
}

rotary_status file_read(const char *path, size_t max, char **bytes, size_t *count, rotary_error *error)
{
    struct input input;
    rotary_status status = input_open(&input, path, error);
    if (status != ROTARY_OK)
        return status;
    if (input.size > max)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s has %ju bytes, wanted at most %zu", path,
                             (uintmax_t)input.size, max);
    else /* One byte more than the size, so that the end is seen before the block would grow. */
        status = read_rest(&input, input.size > 0 ? (size_t)input.size + 1 : FIRST_CAPACITY, max, bytes,
                           count, error);
    input_close(&input);
    return status;
}

enum { FETCH_BYTES = 1 << 20 }; /* of a block */

rotary_status file_part_blocks(const struct file_part *part, file_take *take, void *argument,
                               rotary_error *error)
{
    if (part->bytes || part->count == 0)
        return take(argument, part->bytes, part->count, error);
    size_t block = part->count < FETCH_BYTES ? part->count : FETCH_BYTES;
    char *bytes = malloc(block);
    if (!bytes)
        return rotary_fail_memory(error, "for a block of %zu bytes", block);
    rotary_status status = ROTARY_OK;
    for (size_t first = 0; first < part->count && status == ROTARY_OK; first += block) {
        size_t count = part->count - first < block ? part->count - first : block;
        status = part->fetch(part->context, first, bytes, count, error);
        if (status == ROTARY_OK)
            status = take(argument, bytes, count, error);
    }
    free(bytes);
    return status;
}

struct target {
    const char *path;
    int descriptor;
};

static rotary_status write_block(void *argument, const void *bytes, size_t count, rotary_error *error)
{
    const struct target *target = argument;
    const char *next = bytes;
    while (count > 0) {
        ssize_t written = write(target->descriptor, next, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_system(error, "write", target->path);
        next += written;
        count -= (size_t)written;
    }
    return ROTARY_OK;
}

/* Opens for writing. Of a pipe, open() would wait for a reader as long as there is none. A link is followed
 * to a device or a pipe alone: anybody may have put it where a file is written that will be renamed. */
static rotary_status open_target(struct target *target, rotary_error *error)
{
    const struct timespec moment = {.tv_nsec = READER_NANOSECONDS};
    struct stat about;
    const bool special = stat(target->path, &about) == 0 && !S_ISREG(about.st_mode);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | (special ? 0 : O_NOFOLLOW);
    for (int attempt = 0; attempt < READER_ATTEMPTS; attempt++) {
        target->descriptor = open(target->path, flags, 0666);
        if (target->descriptor >= 0 || errno != ENXIO)
            break;
        nanosleep(&moment, NULL);
    }
    if (target->descriptor < 0 && errno == ELOOP)
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a symbolic link: remove it", target->path);
    if (target->descriptor < 0 && errno == ENXIO)
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a pipe that nobody reads", target->path);
    if (target->descriptor < 0)
        return fail_system(error, "create", target->path);
    fcntl(target->descriptor, F_SETFL, fcntl(target->descriptor, F_GETFL) & ~O_NONBLOCK);
    return ROTARY_OK;
}

rotary_status file_write_parts(const char *path, const struct file_part *parts, int count,
                               rotary_error *error)
{
    struct target target = {.path = path};
    rotary_status status = open_target(&target, error);
    if (status != ROTARY_OK)
        return status;
    /* A device is neither synced, nor removed after a failure. */
    struct stat about;
    bool regular = fstat(target.descriptor, &about) == 0 && S_ISREG(about.st_mode);
    for (int i = 0; i < count && status == ROTARY_OK; i++)
        status = file_part_blocks(&parts[i], write_block, &target, error);
    if (status == ROTARY_OK && regular && fsync(target.descriptor) != 0)
        status = fail_system(error, "write", path);
    /* A network file system may report a failed write only here. */
    if (close(target.descriptor) != 0 && status == ROTARY_OK)
        status = fail_system(error, "write", path);
    if (status != ROTARY_OK && regular)
        unlink(path);
    return status;
}

rotary_status file_replace_parts(const char *path, const struct file_part *parts, int count,
                                 rotary_error *error)
{
    if (path[0] == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the name of the file to write is empty");
    struct stat about;
    char real[PATH_MAX];
    bool link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return file_write_parts(path, parts, count, error);
    if (link && !realpath(path, real))
        return fail_system(error, "follow the link", path);
    if (link)
        path = real;
    /* One fixed name per file: the next write overwrites what a crash leaves there. */
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s" PARTIAL, path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                           strlen(path), path);
    rotary_status status = file_write_parts(temporary, parts, count, error);
    if (status != ROTARY_OK)
        return status;
    status = file_rename(temporary, path, error);
    if (status != ROTARY_OK)
        unlink(temporary);
    return status;
}

rotary_status file_replace(const char *path, const void *bytes, size_t count, rotary_error *error)
{
    struct file_part part = {.bytes = bytes, .count = count};
    return file_replace_parts(path, &part, 1, error);
}

const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int file_entry_order(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

rotary_status file_folder_of(const char *path, char folder[FILE_PATH_BYTES], rotary_error *error)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash ? slash - path : 0);
    if (length >= FILE_PATH_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                           strlen(path), path);
    memcpy(folder, slash ? path : ".", slash ? length : 1);
    folder[slash ? length : 1] = 0;
    return ROTARY_OK;
}

/* Syncs the folder that holds `path`, so that the name itself survives a crash. */
static rotary_status sync_folder_of(const char *path, rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    rotary_status status = file_folder_of(path, folder, error);
    if (status != ROTARY_OK)
        return status;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 && errno == EACCES)
        return ROTARY_OK; /* may be written and not read: the file is there */
    if (descriptor < 0)
        return fail_system(error, "open the folder", folder);
    /* EINVAL: the file system does not sync folders. */
    bool good = fsync(descriptor) == 0 || errno == EINVAL;
    int reason = errno;
    close(descriptor);
    errno = reason;
    return good ? ROTARY_OK : fail_system(error, "sync the folder", folder);
}

rotary_status file_rename(const char *from, const char *to, rotary_error *error)
{
    if (rename(from, to) != 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot rename %s to %s: %s", from, to, strerror(errno));
    return sync_folder_of(to, error);
}

bool file_exists(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

bool file_exists_in(const char *folder, const char *name)
{
    char path[FILE_PATH_BYTES];
    return file_path(path, folder, name, NULL) == ROTARY_OK && file_exists(path);
}

rotary_status file_find(const char *path, bool *found, rotary_error *error)
{
    *found = file_exists(path);
    bool known = *found || errno == ENOENT || errno == ENOTDIR;
    return known ? ROTARY_OK : fail_system(error, "look at", path);
}

static bool same_inode(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino && !S_ISCHR(one.st_mode);
}

bool file_same(const char *a, const char *b)
{
    char folders[2][FILE_PATH_BYTES];
    if (file_exists(a) || file_exists(b))
        return same_inode(a, b);
    const char *names[] = {strrchr(a, '/'), strrchr(b, '/')};
    bool same = strcmp(names[0] ? names[0] + 1 : a, names[1] ? names[1] + 1 : b) == 0;
    return same && file_folder_of(a, folders[0], NULL) == ROTARY_OK &&
           file_folder_of(b, folders[1], NULL) == ROTARY_OK && same_inode(folders[0], folders[1]);
}

rotary_status file_check_output(const char *output, const char *const *inputs, int count, rotary_error *error)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s" PARTIAL, output) >= (int)sizeof temporary)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                           strlen(output), output);
    for (int i = 0; i < count; i++)
        if (inputs[i] && (file_same(output, inputs[i]) || file_same(temporary, inputs[i])))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%.200s would replace %.200s, wanted another name for the result", output,
                               inputs[i]);
    return ROTARY_OK;
}

rotary_status file_check_readable(const char *path, rotary_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0 || access(path, R_OK) != 0)
        return fail_system(error, "open", path);
    if (S_ISDIR(about.st_mode))
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a folder, wanted a file", path);
    return ROTARY_OK;
}

rotary_status file_check_writable(const char *path, rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a folder, wanted a file", path);
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK && access(folder, W_OK | X_OK) != 0)
        status = fail_system(error, "write to the folder", folder);
    return status;
}

rotary_status file_make_folder(const char *path, rotary_error *error)
{
    char made[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof made)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a folder's path has 1 to %d bytes, not %zu",
                           PATH_MAX - 1, length);
    memcpy(made, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        made[i] = 0;
        if (mkdir(made, 0777) != 0 && errno != EEXIST)
            return fail_system(error, "make the folder", made);
        made[i] = path[i];
    }
    struct stat about;
    if (stat(path, &about) != 0)
        return fail_system(error, "look at", path);
    if (!S_ISDIR(about.st_mode))
        return rotary_fail(error, ROTARY_IO_ERROR, "%s is a file, wanted a folder", path);
    if (access(path, W_OK | X_OK) != 0)
        return fail_system(error, "write to the folder", path);
    return ROTARY_OK;
}
