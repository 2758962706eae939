/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks. A line makes a task known everywhere: it gives the enumerator TASK_NAME, the name in
 * configurations and commands, and `task_type_name`, which the task's own file defines (task/task_type.h).
 */
#ifndef ROTARY_TASK_TASK_LIST_H
#define ROTARY_TASK_TASK_LIST_H

struct task_type; /* task/task_type.h */

#define ROTARY_TASKS(TASK)                                                                                   \
    TASK(ADDITION, addition)                                                                                 \
    TASK(CLASSIFICATION, classification)                                                                     \
    TASK(COPY, copy)                                                                                         \
    TASK(INDEX, index)                                                                                       \
    TASK(LANGUAGE, language)                                                                                 \
    TASK(MASKED, masked)                                                                                     \
    TASK(PASSKEY, passkey)                                                                                   \
    TASK(PREFIX, prefix)                                                                                     \
    TASK(REVERSE, reverse)                                                                                   \
    TASK(TRANSLATION, translation)

#endif
