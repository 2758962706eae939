/* SPDX-License-Identifier: Apache-2.0 */
#include "run_folder/folder_owner.h"

#include "base/clock.h"
#include "base/fail.h"
#include "file/input.h"
#include "run_folder/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOST_BYTES = 65, MACHINE_BYTES = 40, ATTEMPTS = 3 };

/* What a file says: "host 123 0f3a...". */
struct owner_text {
    char host[HOST_BYTES], machine[MACHINE_BYTES];
    long process;
};

static rotary_status fail_system(rotary_error *error, const char *doing, const char *path)
{
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot %s %.350s: %s", doing, path, strerror(errno));
}

/* The first line of a small file without its end; "" if it cannot be read. */
static void read_line(const char *path, char *line, size_t bytes)
{
    struct input input;
    size_t got = 0;
    line[0] = 0;
    if (input_open(&input, path, NULL) != ROTARY_OK)
        return;
    if (input_read(&input, line, bytes - 1, &got, NULL) == ROTARY_OK)
        line[got] = 0;
    line[strcspn(line, "\n")] = 0;
    input_close(&input);
}

/* What the link says; "" if there is none. */
static void read_owner(const char *path, char text[OWNER_BYTES])
{
    const ssize_t got = readlink(path, text, OWNER_BYTES - 1);
    text[got > 0 ? got : 0] = 0;
}

static void describe(char text[OWNER_BYTES])
{
    char host[HOST_BYTES] = "", machine[MACHINE_BYTES];
    if (gethostname(host, sizeof host) != 0 || !host[0])
        memcpy(host, "unknown", sizeof "unknown");
    host[HOST_BYTES - 1] = 0;
    read_line("/proc/sys/kernel/random/boot_id", machine, sizeof machine);
    snprintf(text, OWNER_BYTES, "%s %ld %s", host, (long)getpid(), machine[0] ? machine : host);
}

static bool parse(const char *text, struct owner_text *parsed)
{
    *parsed = (struct owner_text){.process = 0};
    return sscanf(text, "%64s %ld %39s", parsed->host, &parsed->process, parsed->machine) == 3;
}

/* The seconds since the owner's link was touched, by the clock of the file system, which another link is made to read. */
static rotary_status read_age(const struct folder_owner *owner, double *age, rotary_error *error)
{
    char path[FILE_PATH_BYTES + OWNER_BYTES];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "%s.%ld", owner->path, (long)getpid());
    unlink(path);
    if (symlink(owner->text, path) != 0)
        return fail_system(error, "create", path);
    *age = OWNER_SECONDS; /* gone meanwhile */
    if (lstat(path, &ours) == 0 && lstat(owner->path, &theirs) == 0)
        *age = (double)(ours.st_mtime - theirs.st_mtime);
    unlink(path);
    return ROTARY_OK;
}

/* Refuses a folder that another host has. */
static rotary_status check_age(const struct folder_owner *owner, const struct owner_text *other,
                               const char *folder, rotary_error *error)
{
    double age;
    rotary_status status = read_age(owner, &age, error);
    if (status != ROTARY_OK || age >= OWNER_SECONDS)
        return status;
    return rotary_fail(
        error, ROTARY_IO_ERROR,
        "%.300s is trained in by process %ld on %s, which was there %.0f seconds ago: wanted another "
        "folder, or, if it is gone, to wait until %d seconds have passed",
        folder, other->process, other->host[0] ? other->host : "another host", age > 0 ? age : 0,
        (int)OWNER_SECONDS);
}

/* Whether the file is this machine's, where a lock that is held says that its owner is gone. */
static bool is_left_over(const struct folder_owner *owner, const struct owner_text *other)
{
    struct owner_text own;
    return parse(owner->text, &own) && strcmp(own.machine, other->machine) == 0;
}

/* Removes what another left. */
static rotary_status replace(const struct folder_owner *owner, const char *folder, rotary_error *error)
{
    char text[OWNER_BYTES];
    struct owner_text other;
    read_owner(owner->path, text);
    const bool known = parse(text, &other);
    rotary_status status =
        known && is_left_over(owner, &other) ? ROTARY_OK : check_age(owner, &other, folder, error);
    if (status == ROTARY_OK && unlink(owner->path) != 0 && errno != ENOENT)
        status = fail_system(error, "replace", owner->path);
    return status;
}

rotary_status folder_owner_take(struct folder_owner *owner, const char *folder, rotary_error *error)
{
    *owner = (struct folder_owner){.held = false};
    describe(owner->text);
    rotary_status status = file_path(owner->path, folder, FOLDER_OWNER, error);
    for (int attempt = 0; attempt < ATTEMPTS && status == ROTARY_OK; attempt++) {
        owner->held = symlink(owner->text, owner->path) == 0;
        owner->touched = rotary_clock();
        if (owner->held || errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) /* no links there */
            return ROTARY_OK;
        status = errno == EEXIST ? replace(owner, folder, error) : fail_system(error, "create", owner->path);
    }
    return status == ROTARY_OK
               ? rotary_fail(error, ROTARY_IO_ERROR, "%.300s is taken by another host at this moment", folder)
               : status;
}

rotary_status folder_owner_keep(struct folder_owner *owner, bool now, rotary_error *error)
{
    char line[OWNER_BYTES];
    struct owner_text other;
    if (!owner->held || (!now && rotary_clock() - owner->touched < OWNER_TOUCH_SECONDS))
        return ROTARY_OK;
    read_owner(owner->path, line);
    if (!line[0]) {
        owner->held = false;
        return rotary_fail(
            error, ROTARY_IO_ERROR,
            "%.350s was removed, and another process may have trained in this folder: nothing more is "
            "written",
            owner->path);
    }
    if (strcmp(line, owner->text) != 0) {
        owner->held = false;
        parse(line, &other);
        return rotary_fail(
            error, ROTARY_IO_ERROR,
            "%.350s says that process %ld on %s trains in this folder now: nothing more is written",
            owner->path, other.process, other.host[0] ? other.host : "another host");
    }
    utimensat(AT_FDCWD, owner->path, NULL, AT_SYMLINK_NOFOLLOW);
    owner->touched = rotary_clock();
    return ROTARY_OK;
}

void folder_owner_leave(struct folder_owner *owner)
{
    rotary_error ignored;
    if (owner->held && folder_owner_keep(owner, true, &ignored) == ROTARY_OK)
        unlink(owner->path);
    owner->held = false;
}
