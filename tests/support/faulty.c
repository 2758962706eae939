/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload into a program, in which calls of the system fail that work with files:
 *
 *     FAULT="fsync 3 28"       the fourth fsync fails with errno 28 (ENOSPC)
 *     FAULT="write 3+ 28"      so does every write from the fourth on
 *     FAULT="rename 0 kill"    the program is killed before the first rename
 *     FAULT="write 0+ half"    every write writes half of its bytes
 *     FAULT="write 0+ again"   every other write fails with EINTR
 *     FAULT="bytes 5000 28"    the file system has room for 5000 bytes more, whatever is removed
 *
 * The calls are create (open with O_CREAT), open, read, write, fsync, rename, mkdir and close; those of standard
 * input, output and error are not counted. Without FAULT the number of each is printed on stderr at the end.
 * FAULT="flock" lets every flock succeed, as where locks hold on one machine alone, and the program is on the host
 * FAULTY_HOST, whose id since it was started is in the file FAULTY_MACHINE.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum call { CREATE, OPEN, READ, WRITE, FSYNC, RENAME, MKDIR, CLOSE, CALLS };
static const char *const names[CALLS] = {"create", "open",   "read",  "write",
                                         "fsync",  "rename", "mkdir", "close"};
static atomic_long counted[CALLS], room = -1;

/* What FAULT says; set before main. */
static struct {
    int call; /* CALLS: none; -1: print */
    long first;
    bool on, kill, half, again, flock;
    int error;
} fault;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAULT");
    char call[16] = "", first[16] = "", what[16] = "";
    fault.call = text ? CALLS : -1;
    if (!text)
        return;
    sscanf(text, "%15s %15s %15s", call, first, what);
    fault.flock = strcmp(call, "flock") == 0;
    fault.first = atol(first);
    fault.on = strchr(first, '+') != NULL;
    fault.kill = strcmp(what, "kill") == 0;
    fault.half = strcmp(what, "half") == 0;
    fault.again = strcmp(what, "again") == 0;
    fault.error = atoi(what);
    for (int i = 0; i < CALLS; i++)
        if (strcmp(call, names[i]) == 0)
            fault.call = i;
    if (strcmp(call, "bytes") == 0)
        room = fault.first;
}

__attribute__((destructor)) static void end(void)
{
    for (int i = 0; fault.call == -1 && i < CALLS; i++)
        fprintf(stderr, "fault %s %ld\n", names[i], (long)counted[i]);
}

/* Whether this call is one that the fault is about. */
static bool is_hit(enum call call)
{
    const long number = counted[call]++;
    if ((int)call != fault.call || number < fault.first || (number > fault.first && !fault.on))
        return false;
    if (fault.kill)
        raise(SIGKILL);
    return true;
}

/* Whether the call fails. */
static bool fails(enum call call)
{
    if (!is_hit(call) || fault.half)
        return false;
    errno = fault.again ? EINTR : fault.error;
    return !fault.again || counted[call] % 2 == 1;
}

/* The next function of that name. A pointer to an object becomes one to a function. */
static void find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static int open_at(const char *name, int folder, const char *path, int flags, mode_t mode)
{
    int (*next)(int, const char *, int, ...);
    find(name, &next);
    if (fault.flock && strstr(path, "/boot_id"))
        path = getenv("FAULTY_MACHINE");
    return fails(flags & O_CREAT ? CREATE : OPEN) ? -1 : next(folder, path, flags, mode);
}

#define MODE_OF(flags)                                                                                       \
    mode_t mode = 0;                                                                                         \
    if ((flags)&O_CREAT) {                                                                                   \
        va_list list;                                                                                        \
        va_start(list, flags);                                                                               \
        mode = va_arg(list, mode_t);                                                                         \
        va_end(list);                                                                                        \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_at("openat", AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_at("openat64", AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_at("openat", folder, path, flags, mode);
}

ssize_t read(int file, void *bytes, size_t count)
{
    ssize_t (*next)(int, void *, size_t);
    find("read", &next);
    if (file > STDERR_FILENO && fails(READ))
        return -1;
    return next(file, bytes, fault.half && fault.call == READ && count > 1 ? count / 2 : count);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    ssize_t (*next)(int, const void *, size_t);
    find("write", &next);
    if (file <= STDERR_FILENO)
        return next(file, bytes, count);
    if (fails(WRITE))
        return -1;
    if (fault.half && fault.call == WRITE && count > 1)
        count /= 2;
    if (room >= 0 && count > (size_t)room)
        count = (size_t)room;
    if (room == 0) {
        errno = fault.error;
        return -1;
    }
    const ssize_t written = next(file, bytes, count);
    if (room >= 0 && written > 0)
        room -= written;
    return written;
}

int fsync(int file)
{
    int (*next)(int);
    find("fsync", &next);
    return fails(FSYNC) ? -1 : next(file);
}

int fdatasync(int file)
{
    int (*next)(int);
    find("fdatasync", &next);
    return fails(FSYNC) ? -1 : next(file);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    find("rename", &next);
    return fails(RENAME) ? -1 : next(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t);
    find("mkdir", &next);
    return fails(MKDIR) ? -1 : next(path, mode);
}

/* As Linux does, it closes the file all the same. */
int close(int file)
{
    int (*next)(int);
    find("close", &next);
    const bool fail = file > STDERR_FILENO && fails(CLOSE);
    const int reason = errno, status = next(file);
    errno = fail ? reason : errno;
    return fail ? -1 : status;
}

int flock(int file, int operation)
{
    int (*next)(int, int);
    find("flock", &next);
    return fault.flock ? 0 : next(file, operation);
}

int gethostname(char *name, size_t bytes)
{
    int (*next)(char *, size_t);
    find("gethostname", &next);
    return fault.flock ? snprintf(name, bytes, "%s", getenv("FAULTY_HOST")) < 0 : next(name, bytes);
}
