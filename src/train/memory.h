/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether what is about to be allocated can be had at all. The system promises memory it does not have and
 * kills the process that believes it, so the question is asked before.
 */
#ifndef ROTARY_TRAIN_MEMORY_H
#define ROTARY_TRAIN_MEMORY_H

#include <rotary/status.h>

/* Bytes of memory this process may use: what the machine has, or less where its control group or its limits
 * say so. */
size_t memory_limit(void);

/* The least number in the files `name` of control group `group`, such as "/jobs/17", and of all groups around
 * it, below `root`; SIZE_MAX where none says one. */
size_t memory_group_limit(const char *root, const char *group, const char *name);

/* Bytes that can be had now without taking another program's: at most memory_limit(). */
size_t memory_available(void);

/* ROTARY_OUT_OF_MEMORY, with both numbers, if `bytes` for `what` are more than memory_available(). */
ROTARY_CHECKED rotary_status memory_check(size_t bytes, const char *what, rotary_error *error);

#endif
