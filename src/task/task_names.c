/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task.h"

#include <stddef.h>

#define ROTARY_TASK_NAME(NAME, name) #name,
const char *const task_names[] = {ROTARY_TASKS(ROTARY_TASK_NAME) NULL};

const char *const task_split_names[] = {"training", "validation", "test", NULL};
