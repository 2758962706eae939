/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of this process, so that a test can tell whether some were created or ended.
 */
#ifndef TESTS_SUPPORT_THREAD_LIST_H
#define TESTS_SUPPORT_THREAD_LIST_H

#include <stdbool.h>

enum { THREAD_LIST = 64 };

/* Their identities in ascending order. Returns how many there are, at most THREAD_LIST. */
int thread_list(long threads[THREAD_LIST]);

/* Whether there are `count` threads, or will be within some seconds: a thread that was joined may be listed
 * for a moment longer. */
bool thread_list_settles(int count);

#endif
