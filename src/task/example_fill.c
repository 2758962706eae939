/* SPDX-License-Identifier: Apache-2.0 */
#include "task/example_fill.h"

#include "task/permutation.h"

void example_fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const int64_t count = task_examples(task, place->split);
    const bool training = place->split == TASK_TRAINING;
    const struct example_place read = {.split = place->split,
                                       .index = training ? corpus_training_example(place, count).index
                                                         : place->row % count,
                                       .seed = place->seed,
                                       .ordinal = place->ordinal};
    const int64_t length = task_example(task, place->split, read.index).target_count;
    const int32_t padding = tokenizer_special(task->tokenizer).padding;
    task_fill_example(task, &read, &(struct example_row){.tokens = row->tokens, .classes = row->classes});
    for (int64_t i = length; i < task->shape.time; i++) {
        row->tokens[i] = padding >= 0 ? padding : 0;
        row->classes[i] = BATCH_IGNORED;
    }
    *row->length = (int32_t)length;
}
