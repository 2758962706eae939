/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include "base/fail.h"

#include <omp.h>

rotary_status rotary_check_threads(int threads, rotary_error *error)
{
    if (threads < 0 || threads > ROTARY_MAX_THREADS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "threads is %d; wanted 1 ... %d, or 0 for all processors", threads,
                           ROTARY_MAX_THREADS);
    return ROTARY_OK;
}

int rotary_processors(void)
{
    int processors = omp_get_num_procs();
    return processors > 0 ? processors : 1;
}

void rotary_parallel_for(int threads, int64_t count, rotary_work *work, void *argument)
{
    if (threads <= 0)
        threads = rotary_processors();
    if (threads > count)
        threads = count > 1 ? (int)count : 1;
    if (threads == 1) {
        for (int64_t index = 0; index < count; index++)
            work(argument, index, 0);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t index = 0; index < count; index++)
        work(argument, index, omp_get_thread_num());
}
