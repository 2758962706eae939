/* SPDX-License-Identifier: Apache-2.0
 *
 * The examples of a task that has a finite number of them: what types of tasks ask of one another's examples.
 */
#include "task/task_type.h"

#include <string.h>

int64_t task_examples(const struct task *task, enum task_split split)
{
    return task->type->examples ? task->type->examples(task, split) : 0;
}

struct task_example task_example(const struct task *task, enum task_split split, int64_t index)
{
    return task->type->example(task, split, index);
}

void task_fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    if (task->type->fill) {
        task->type->fill(task, place, row);
        return;
    }
    const struct task_example example = task->type->example(task, place->split, place->index);
    const size_t bytes = (size_t)example.target_count * sizeof *row->tokens;
    memcpy(row->tokens, example.target, bytes);
    memcpy(row->classes, example.target + 1, bytes);
}
