/* SPDX-License-Identifier: Apache-2.0 */
#include "train/memory.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number a file of a control group holds; SIZE_MAX if there is none, or the word "max". */
static size_t group_limit(const char *path)
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

size_t memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t limit = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    limit = smaller(limit, group_limit("/sys/fs/cgroup/memory.max"));
    limit = smaller(limit, group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    struct rlimit address_space;
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
        limit = smaller(limit, (size_t)address_space.rlim_cur);
    return limit;
}

rotary_status memory_check(size_t bytes, const char *what, rotary_error *error)
{
    size_t limit = memory_limit();
    if (bytes <= limit)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s needs %.1f GiB of memory; this machine has %.1f GiB",
                       what, (double)bytes / 0x1p30, (double)limit / 0x1p30);
}
