/* SPDX-License-Identifier: Apache-2.0 */
#include "support/thread_list.h"

#include <dirent.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

int thread_list(long threads[THREAD_LIST])
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && count < THREAD_LIST && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            threads[count++] = strtol(entry->d_name, NULL, 10);
    if (folder)
        closedir(folder);
    qsort(threads, (size_t)count, sizeof *threads, compare);
    return count;
}
