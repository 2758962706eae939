/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an allocation fits into memory. Linux overcommits: malloc succeeds, and the process is killed when
 * it uses the memory. So sizes are compared with the memory available before they are allocated.
 */
#ifndef ROTARY_FILE_MEMORY_H
#define ROTARY_FILE_MEMORY_H

#include <rotary/status.h>

/* Bytes of memory this process may use: the minimum of the machine's memory, its control groups' limits and
 * its resource limits. */
size_t memory_limit(void);

/* The minimum of the limits in the files `name` of control group `group`, such as "/jobs/17", and of its
 * parent groups, below `root`; SIZE_MAX if there is none. */
size_t memory_group_limit(const char *root, const char *group, const char *name);

/* Bytes that can be allocated now without swapping: at most memory_limit(). */
size_t memory_available(void);

/* ROTARY_OUT_OF_MEMORY, with both numbers, if `bytes` for `what` are more than memory_available(). */
ROTARY_CHECKED rotary_status memory_check(size_t bytes, const char *what, rotary_error *error);

#endif
