/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a finite corpus whose examples are of text alone.
 */
#ifndef ROTARY_TASK_EXAMPLE_FILL_H
#define ROTARY_TASK_EXAMPLE_FILL_H

#include "task/task_type.h"

/* The `fill` of a task type that has fill_example: a row is an example, and padding behind it. */
void example_fill(const struct task *task, const struct task_place *place, const struct task_row *row);

#endif
