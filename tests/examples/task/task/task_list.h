/* SPDX-License-Identifier: Apache-2.0
 *
 * The example's copy of src/task/task_list.h, with one line more.
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
    TASK(TRANSLATION, translation)                                                                           \
    TASK(LINES, lines)

#endif
