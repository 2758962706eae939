/* SPDX-License-Identifier: Apache-2.0 */
#include "train/packed_batch.h"

#include "base/integer.h"
#include "task/permutation.h"

#include <string.h>

static bool is_permuted(const struct example_order *order)
{
    return order->split == TASK_TRAINING && !order->in_order;
}

static struct example_place place_of(const struct example_order *order, int64_t ordinal)
{
    const struct task_place place = {.seed = order->seed, .ordinal = ordinal};
    const int64_t count = task_examples(order->task, order->split);
    return (struct example_place){.split = order->split,
                                  .index = is_permuted(order) ? corpus_training_example(&place, count).index
                                                              : ordinal,
                                  .seed = order->seed,
                                  .ordinal = ordinal};
}

struct task_example example_at(const struct example_order *order, int64_t ordinal)
{
    return task_example(order->task, order->split, place_of(order, ordinal).index);
}

int64_t examples_within(const struct example_order *order, struct batch_size size, int64_t ordinal)
{
    const int64_t end = is_permuted(order) ? INT64_MAX : task_examples(order->task, order->split);
    if (size.examples > 0)
        return min_i64(size.examples, end - ordinal);
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

int64_t examples_batches(const struct example_order *order, struct batch_size size)
{
    int64_t batches = 0, ordinal = 0;
    for (int64_t count; (count = examples_within(order, size, ordinal)) > 0; batches++)
        ordinal += count;
    return batches;
}

void example_cursor_move(struct example_cursor *cursor, const struct example_order *order,
                         struct batch_size size, int64_t batch)
{
    if (size.examples > 0)
        *cursor = (struct example_cursor){.batch = batch, .ordinal = batch * size.examples};
    if (batch < cursor->batch)
        *cursor = (struct example_cursor){0};
    for (; cursor->batch < batch; cursor->batch++)
        cursor->ordinal += examples_within(order, size, cursor->ordinal);
}

static int32_t *push(struct rotary_arena *arena, int64_t count)
{
    return rotary_arena_push(arena, count, sizeof(int32_t));
}

void packed_batch_carve(struct packed_batch *batch, const struct task *task, int64_t tokens,
                        struct rotary_arena *arena)
{
    const struct task_shape shape = task_shape(task);
    *batch = (struct packed_batch){.tokens = push(arena, tokens), .classes = push(arena, tokens)};
    batch->starts = push(arena, tokens + 1);
    if (shape.segments)
        batch->segments = push(arena, tokens);
    if (shape.values)
        batch->values = rotary_arena_push(arena, tokens, sizeof *batch->values);
    if (shape.source_time == 0)
        return;
    batch->source = push(arena, tokens);
    batch->source_starts = push(arena, tokens + 1);
}

int64_t packed_batch_targets(const struct task *task, const struct batch *batch)
{
    const struct task_shape shape = task_shape(task);
    const int64_t count =
        shape.labels ? batch->input.sequences / max_i64(shape.choices, 1) : batch->input.time;
    int64_t targets = 0;
    if (shape.values)
        return count;
    for (int64_t i = 0; i < count; i++)
        targets += batch->classes[i] != BATCH_IGNORED;
    return targets;
}

struct batch packed_batch_fill(const struct packed_batch *memory, const struct example_order *order,
                               int64_t ordinal, int64_t count)
{
    const struct task_shape shape = task_shape(order->task);
    const bool labels = shape.labels;
    const int64_t sequences = max_i64(shape.choices, 1);
    int64_t tokens = 0, source = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct example_place place = place_of(order, ordinal + i);
        const struct task_example example = task_example(order->task, order->split, place.index);
        const struct example_row row = {.tokens = memory->tokens + tokens,
                                        .classes = memory->classes + (labels ? i : tokens),
                                        .segments = memory->segments ? memory->segments + tokens : NULL,
                                        .value = memory->values ? memory->values + i : NULL};
        task_fill_example(order->task, &place, &row);
        for (int64_t s = 0; s < sequences; s++)
            memory->starts[i * sequences + s] =
                (int32_t)(tokens + (example.starts ? example.starts[s] - example.starts[0] : 0));
        tokens += example.target_count;
        if (!memory->source)
            continue;
        memcpy(memory->source + source, example.source,
               (size_t)example.source_count * sizeof *memory->source);
        memory->source_starts[i] = (int32_t)source;
        source += example.source_count;
    }
    memory->starts[count * sequences] = (int32_t)tokens;
    struct batch batch = {.input = {.batch = 1,
                                    .time = tokens,
                                    .tokens = memory->tokens,
                                    .starts = memory->starts,
                                    .sequences = count * sequences,
                                    .segments = memory->segments},
                          .choices = shape.choices,
                          .classes = memory->values ? NULL : memory->classes,
                          .values = memory->values};
    if (!memory->source)
        return batch;
    memory->source_starts[count] = (int32_t)source;
    batch.source = (struct token_sequences){.batch = 1,
                                            .time = source,
                                            .tokens = memory->source,
                                            .starts = memory->source_starts,
                                            .sequences = count};
    return batch;
}
