/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task_batch.h"

static int32_t *push(struct rotary_arena *arena, int64_t count)
{
    return count > 0 ? rotary_arena_push(arena, count, sizeof(int32_t)) : NULL;
}

void task_batch_carve(struct task_batch *batch, const struct task *task, int64_t rows,
                      struct rotary_arena *arena)
{
    const struct task_shape shape = task_shape(task);
    const bool source = shape.source_time > 0;
    *batch = (struct task_batch){.task = task, .rows = rows, .shape = shape};
    batch->scratch = push(arena, rows * shape.scratch);
    batch->tokens = push(arena, rows * shape.time);
    batch->classes = push(arena, rows * shape.time);
    batch->lengths = push(arena, shape.lengths ? rows : 0);
    batch->source = push(arena, rows * shape.source_time);
    batch->source_lengths = push(arena, shape.lengths && source ? rows : 0);
    batch->values = shape.values ? rotary_arena_push(arena, rows, sizeof *batch->values) : NULL;
}

static int32_t *at(int32_t *array, int64_t index)
{
    return array ? array + index : NULL;
}

void task_batch_fill(const struct task_batch *batch, int64_t row, const struct task_place *place)
{
    const struct task_row memory = {
        .tokens = batch->tokens + row * batch->shape.time,
        .classes = batch->classes + row * batch->shape.time,
        .length = at(batch->lengths, row),
        .source = at(batch->source, row * batch->shape.source_time),
        .source_length = at(batch->source_lengths, row),
        .scratch = at(batch->scratch, row * batch->shape.scratch),
        .value = batch->values ? batch->values + row : NULL,
    };
    task_fill(batch->task, place, &memory);
}

struct batch task_batch_view(const struct task_batch *batch, int64_t first, int64_t rows)
{
    const struct task_shape *shape = &batch->shape;
    struct batch view = {
        .input = {.batch = rows,
                  .time = shape->time,
                  .tokens = batch->tokens + first * shape->time,
                  .lengths = at(batch->lengths, first)},
        .classes = batch->classes + first * shape->time,
    };
    if (batch->source)
        view.source = (struct token_sequences){.batch = rows,
                                               .time = shape->source_time,
                                               .tokens = batch->source + first * shape->source_time,
                                               .lengths = at(batch->source_lengths, first)};
    return view;
}
