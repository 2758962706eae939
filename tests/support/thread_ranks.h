/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that are threads of a test, so that what ranks do together is tested without MPI.
 */
#ifndef TESTS_SUPPORT_THREAD_RANKS_H
#define TESTS_SUPPORT_THREAD_RANKS_H

#include "ranks/ranks.h"

enum { THREAD_RANKS = 16 };

/* Calls work(argument, ranks) on `count` threads, each of which is a rank, and waits for all. Of one rank `ranks` is
 * NULL. */
typedef void thread_rank_work(void *argument, const struct ranks *ranks);
void thread_ranks_run(int count, thread_rank_work *work, void *argument);

#endif
