/* SPDX-License-Identifier: Apache-2.0 */
#include "file/memory.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file of a control group; SIZE_MAX if there is no file, or if it holds the word "max". */
static size_t file_limit(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return SIZE_MAX;
    uintmax_t limit;
    if (fscanf(file, "%ju", &limit) != 1 || limit > SIZE_MAX)
        limit = SIZE_MAX;
    fclose(file);
    return (size_t)limit;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t memory_group_limit(const char *root, const char *group, const char *name)
{
    char path[8192];
    size_t limit = SIZE_MAX, length = strlen(group);
    for (;;) {
        int written = snprintf(path, sizeof path, "%s%.*s/%s", root, (int)length, group, name);
        if (written > 0 && (size_t)written < sizeof path)
            limit = smaller(limit, file_limit(path));
        if (length == 0)
            return limit;
        do
            length--;
        while (length > 0 && group[length] != '/');
    }
}

/* The minimum limit of the control groups of this process, of version 1 and 2. A container usually sees its
 * own group as the root, whatever its name outside. */
static size_t groups_limit(void)
{
    size_t limit = SIZE_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return limit;
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            continue;
        *second = 0;
        if (strcmp(first + 1, "") == 0)
            limit = smaller(limit, memory_group_limit("/sys/fs/cgroup", second + 1, "memory.max"));
        else if (strcmp(first + 1, "memory") == 0)
            limit = smaller(limit,
                            memory_group_limit("/sys/fs/cgroup/memory", second + 1, "memory.limit_in_bytes"));
    }
    fclose(file);
    return limit;
}

size_t memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t limit = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    limit = smaller(limit, groups_limit());
    struct rlimit address_space;
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
        limit = smaller(limit, (size_t)address_space.rlim_cur);
    return limit;
}

size_t memory_available(void)
{
    size_t limit = memory_limit();
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file)
        return limit;
    char line[256];
    uintmax_t kilobytes;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ju kB", &kilobytes) == 1 && kilobytes < limit / 1024)
            limit = (size_t)kilobytes * 1024;
    fclose(file);
    return limit;
}

rotary_status memory_check(size_t bytes, const char *what, rotary_error *error)
{
    size_t available = memory_available();
    if (bytes <= available)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                       "%s needs %.1f GiB of memory; this machine has %.1f GiB available", what,
                       (double)bytes / 0x1p30, (double)available / 0x1p30);
}
