/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel loops. Work is cut by the size of the problem, never by the number of threads, so that results do
 * not depend on how many there are.
 */
#ifndef ROTARY_BASE_THREADS_H
#define ROTARY_BASE_THREADS_H

#include <rotary/status.h>

/* `index` is the piece of work, 0 <= index < count; `worker`, 0 <= worker < threads, tells concurrent calls
 * apart so that each can own scratch memory. */
typedef void rotary_work(void *argument, int64_t index, int worker);

/* More would be of no use, and the system may end a process that asks for too many. */
enum { ROTARY_MAX_THREADS = 1024 };

/* Refuses what is not 0 ... ROTARY_MOST_THREADS. */
ROTARY_CHECKED rotary_status rotary_check_threads(int threads, rotary_error *error);

/* The number of processors this process may use, at least 1. */
int rotary_processors(void);

/* Calls work(argument, index, worker) once for every index, on at most `threads` threads (1 runs in the
 * caller alone; 0 means rotary_processors()). Returns when all are done. Allocates nothing itself. */
void rotary_parallel_for(int threads, int64_t count, rotary_work *work, void *argument);

#endif
