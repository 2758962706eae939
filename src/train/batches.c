/* SPDX-License-Identifier: Apache-2.0 */
#include "train/batches.h"

#include "base/integer.h"
#include "base/threads.h"
#include "task/permutation.h"

#include <string.h>

/* ---- rows ---- */

static bool has_corpus(const struct task *task)
{
    return task_has_examples(task_configuration(task));
}

static bool has_end(const struct row_order *order)
{
    return order->split != TASK_TRAINING || order->in_order;
}

static int64_t rows_of(const struct row_order *order)
{
    return has_corpus(order->task) ? task_examples(order->task, order->split) : order->rows;
}

struct task_place place_at(const struct row_order *order, int64_t ordinal)
{
    const int64_t rows = rows_of(order);
    struct task_place place = {
        .split = order->split, .seed = order->seed, .index = ordinal % rows, .ordinal = ordinal};
    if (has_end(order))
        return place;
    if (has_corpus(order->task))
        place.index = corpus_training_example(&place, rows).index;
    else
        place.step = (uint32_t)(1 + ordinal / rows);
    return place;
}

struct task_example example_at(const struct row_order *order, int64_t ordinal)
{
    if (!has_corpus(order->task))
        return (struct task_example){.target_count = task_shape(order->task).time};
    return task_example(order->task, order->split, place_at(order, ordinal).index);
}

int64_t rows_within(const struct row_order *order, struct batch_size size, int64_t ordinal)
{
    const int64_t end = has_end(order) ? rows_of(order) : INT64_MAX;
    if (size.rows > 0)
        return min_i64(size.rows, end - ordinal);
    int64_t source = 0, target = 0, count = 0;
    for (; ordinal + count < end; count++) {
        const struct task_example example = example_at(order, ordinal + count);
        source += example.source_count;
        target += example.target_count;
        if (source > size.tokens || target > size.tokens)
            break;
    }
    return count;
}

struct longest_example examples_longest(const struct task *task)
{
    struct longest_example longest = {.tokens = 0};
    for (int64_t i = 0; i < task_examples(task, TASK_TRAINING); i++) {
        const struct task_example example = task_example(task, TASK_TRAINING, i);
        const int64_t tokens = max_i64(example.source_count, example.target_count);
        if (tokens > longest.tokens)
            longest = (struct longest_example){.index = i, .tokens = tokens};
    }
    return longest;
}

int64_t batches_count(const struct row_order *order, struct batch_size size)
{
    int64_t batches = 0, ordinal = 0;
    for (int64_t count; (count = rows_within(order, size, ordinal)) > 0; batches++)
        ordinal += count;
    return batches;
}

void row_cursor_move(struct row_cursor *cursor, const struct row_order *order, struct batch_size size,
                     int64_t batch)
{
    if (size.rows > 0)
        *cursor = (struct row_cursor){.batch = batch, .ordinal = batch * size.rows};
    if (batch < cursor->batch)
        *cursor = (struct row_cursor){0};
    for (; cursor->batch < batch; cursor->batch++)
        cursor->ordinal += rows_within(order, size, cursor->ordinal);
}

/* ---- memory ---- */

static int32_t *push(struct rotary_arena *arena, int64_t count)
{
    return count > 0 ? rotary_arena_push(arena, count, sizeof(int32_t)) : NULL;
}

void batch_carve(struct batch_memory *memory, const struct task *task, int64_t tokens,
                 struct rotary_arena *arena)
{
    const struct task_shape shape = task_shape(task);
    const int64_t source = shape.source_time > 0 ? tokens : 0;
    *memory = (struct batch_memory){.tokens = push(arena, tokens), .classes = push(arena, tokens)};
    memory->segments = push(arena, shape.segments ? tokens : 0);
    memory->values = shape.values ? rotary_arena_push(arena, tokens, sizeof *memory->values) : NULL;
    memory->source = push(arena, source);
    memory->source_starts = push(arena, source > 0 ? source + 1 : 0);
    if (has_corpus(task))
        memory->starts = push(arena, tokens + 1);
    memory->scratch = push(arena, tokens / shape.time * shape.scratch);
}

/* ---- filling ---- */

struct fill {
    const struct batch_memory *memory;
    const struct row_order *order;
    struct task_shape shape;
    int64_t ordinal;
    int64_t sequences; /* of a row */
};

/* Writes the starts of all sequences. */
static void place_rows(const struct fill *fill, int64_t count)
{
    const struct batch_memory *memory = fill->memory;
    int32_t tokens = 0, source = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct task_example example = example_at(fill->order, fill->ordinal + i);
        for (int64_t s = 0; s < fill->sequences; s++)
            memory->starts[i * fill->sequences + s] =
                tokens + (example.starts ? (int32_t)(example.starts[s] - example.starts[0]) : 0);
        tokens += (int32_t)example.target_count;
        if (memory->source)
            memory->source_starts[i] = source;
        source += (int32_t)example.source_count;
    }
    memory->starts[count * fill->sequences] = tokens;
    if (memory->source)
        memory->source_starts[count] = source;
}

static int32_t *at(int32_t *array, int64_t index)
{
    return array ? array + index : NULL;
}

static void fill_row(void *argument, int64_t i, int worker)
{
    (void)worker;
    const struct fill *fill = argument;
    const struct batch_memory *memory = fill->memory;
    const struct task_place place = place_at(fill->order, fill->ordinal + i);
    const int64_t first = memory->starts ? memory->starts[i * fill->sequences] : i * fill->shape.time;
    const struct task_row row = {.tokens = memory->tokens + first,
                                 .classes = memory->classes + (fill->shape.labels ? i : first),
                                 .segments = at(memory->segments, first),
                                 .value = memory->values ? memory->values + i : NULL,
                                 .scratch = at(memory->scratch, i * fill->shape.scratch)};
    task_fill(fill->order->task, &place, &row);
    if (!memory->source)
        return;
    const struct task_example example = task_example(fill->order->task, place.split, place.index);
    memcpy(memory->source + memory->source_starts[i], example.source,
           (size_t)example.source_count * sizeof *memory->source);
}

struct batch batch_fill(const struct batch_memory *memory, const struct row_order *order, int64_t ordinal,
                        int64_t count, int threads)
{
    struct fill fill = {
        .memory = memory, .order = order, .shape = task_shape(order->task), .ordinal = ordinal};
    fill.sequences = max_i64(fill.shape.choices, 1);
    if (memory->starts)
        place_rows(&fill, count);
    rotary_parallel_for(threads, count, fill_row, &fill);
    struct batch batch = {.input = {.batch = count * fill.sequences,
                                    .time = fill.shape.time,
                                    .starts = memory->starts,
                                    .tokens = memory->tokens,
                                    .segments = memory->segments},
                          .choices = fill.shape.choices,
                          .classes = memory->values ? NULL : memory->classes,
                          .values = memory->values};
    if (memory->source)
        batch.source = (struct token_sequences){
            .batch = count, .starts = memory->source_starts, .tokens = memory->source};
    return batch;
}

int64_t batch_targets(const struct task *task, const struct batch *batch)
{
    const struct task_shape shape = task_shape(task);
    const int64_t count =
        shape.labels ? batch->input.batch / max_i64(shape.choices, 1) : token_rows(&batch->input);
    int64_t targets = 0;
    if (shape.values)
        return count;
    for (int64_t i = 0; i < count; i++)
        targets += batch->classes[i] != BATCH_IGNORED;
    return targets;
}
