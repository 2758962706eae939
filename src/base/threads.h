/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops over work items. Callers choose items by the size of the problem, never by the number of
 * threads, so that results do not depend on it.
 */
#ifndef ROTARY_BASE_THREADS_H
#define ROTARY_BASE_THREADS_H

#include <rotary/status.h>

/* Processes work item `index`, 0 <= index < count. Concurrent calls have different `worker`, 0 <= worker <
 * threads, which can select scratch memory. */
typedef void rotary_work(void *argument, int64_t index, int worker);

/* More threads are refused, because the system may kill a process that creates too many. */
enum { ROTARY_MAX_THREADS = 1024 };

/* ROTARY_INVALID_ARGUMENT unless `threads` is 0 ... ROTARY_MAX_THREADS. */
ROTARY_CHECKED rotary_status rotary_check_threads(int threads, rotary_error *error);

/* The number of processors this process may use, at least 1. */
int rotary_processors(void);

/* Calls work(argument, index, worker) once for every index on at most `threads` threads (1: the caller's; 0:
 * rotary_processors()). Returns when all items are done. Allocates nothing itself. */
void rotary_parallel_for(int threads, int64_t count, rotary_work *work, void *argument);

#endif
