/* SPDX-License-Identifier: Apache-2.0 */
#include "support/thread_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>

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

bool thread_list_settles(int count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    long threads[THREAD_LIST];
    for (int i = 0; i < 5000 && thread_list(threads) != count; i++)
        nanosleep(&pause, NULL);
    return thread_list(threads) == count;
}
