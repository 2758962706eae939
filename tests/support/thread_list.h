/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of this process, so that a test can tell whether some were created or ended.
 */
#ifndef TESTS_SUPPORT_THREAD_LIST_H
#define TESTS_SUPPORT_THREAD_LIST_H

enum { THREAD_LIST = 64 };

/* Their identities in ascending order. Returns how many there are, at most THREAD_LIST. */
int thread_list(long threads[THREAD_LIST]);

#endif
