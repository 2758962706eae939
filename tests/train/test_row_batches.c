/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a batch: every row goes to its own place, one behind another, in every array that the task's
 * shape has; a row of a task without a corpus is asked for by step and place in it.
 */
#include "train/batches.h"

#include "support/check.h"
#include "task/task_type.h"

#include <string.h>

enum { TIME = 5, SCRATCH = 2, CHOICES = 3, ROWS = 4, EXAMPLES = 6, SEED = 9 };

/* A number for every element of every array. */
static int32_t number(int array, int64_t row, int64_t at)
{
    return (int32_t)(1000 * array + 100 * row + at);
}

static void fill_array(int array, int64_t row, int32_t *memory, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        memory[i] = number(array, row, i);
}

/* ---- a task ---- */

static int64_t examples(const struct task *task, enum task_split split)
{
    (void)task;
    return split == TASK_TEST ? EXAMPLES : 0;
}

/* Example i has 3, 4 or 5 tokens, of which choice s begins at token s, and a source of 1 or 2. */
static struct task_example example(const struct task *task, enum task_split split, int64_t index)
{
    static const int64_t starts[] = {7, 8, 9};
    static int32_t sources[EXAMPLES][2];
    CHECK_INT(split, TASK_TEST);
    fill_array(4, index, sources[index], 2);
    return (struct task_example){.source = sources[index],
                                 .source_count = task->shape.source_time > 0 ? 1 + index % 2 : 0,
                                 .target_count = 3 + index % 3,
                                 .starts = task->shape.choices > 0 ? starts : NULL};
}

static bool has_corpus(const struct task *task)
{
    return task->config.task == TASK_MASKED;
}

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const int64_t count =
        has_corpus(task) ? example(task, place->split, place->index).target_count : task->shape.time;
    const int64_t told = has_corpus(task) ? place->index : 10 * place->step + place->index;
    CHECK_INT((int64_t)place->seed, SEED);
    CHECK_INT(row->scratch != NULL, task->shape.scratch > 0);
    CHECK_INT(row->segments != NULL, task->shape.segments);
    CHECK_INT(row->value != NULL, task->shape.values);
    fill_array(1, told, row->tokens, count);
    fill_array(2, told, row->classes, task->shape.labels ? 1 : count);
    if (row->segments)
        fill_array(3, told, row->segments, count);
    if (row->value)
        *row->value = (float)told;
    if (row->scratch)
        fill_array(6, told, row->scratch, task->shape.scratch);
}

static const struct task_type type = {.fill = fill, .examples = examples, .example = example};

/* ---- tests ---- */

static struct batch_memory memory_of(const struct task *task, struct rotary_arena *arena)
{
    struct batch_memory memory;
    batch_carve(&memory, task, (int64_t)ROWS * TIME, arena);
    if (!CHECK_INT(rotary_arena_allocate(arena, "a batch", NULL), ROTARY_OK))
        exit(check_report());
    batch_carve(&memory, task, (int64_t)ROWS * TIME, arena);
    CHECK_INT((int64_t)arena->used, (int64_t)arena->capacity);
    return memory;
}

static void check_array(const int32_t *memory, int array, int64_t row, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(memory[i], number(array, row, i));
}

/* Steps of 6 rows are cut into batches of 4: an order has its rows where the steps have them. */
static void test_steps(void)
{
    const struct task task = {
        .type = &type, .config.task = TASK_INDEX, .shape = {.time = TIME, .scratch = SCRATCH}};
    const struct row_order order = {.task = &task, .seed = SEED, .rows = 6};
    struct rotary_arena arena = {0};
    const struct batch_memory memory = memory_of(&task, &arena);
    for (int64_t first = 0; first < 12; first += ROWS) {
        CHECK_INT(rows_within(&order, (struct batch_size){.rows = ROWS}, first), ROWS);
        CHECK_INT(rows_within(&order, (struct batch_size){.tokens = ROWS * TIME + 1}, first), ROWS);
        const struct batch batch = batch_fill(&memory, &order, first, ROWS, 2);
        CHECK_INT(batch.input.batch, ROWS);
        CHECK_INT(batch.input.time, TIME);
        CHECK_INT(batch_targets(&task, &batch), (int64_t)ROWS * TIME);
        for (int64_t i = 0; i < ROWS; i++) {
            const int64_t told = 10 * (1 + (first + i) / 6) + (first + i) % 6;
            check_array(batch.input.tokens + i * TIME, 1, told, TIME);
            check_array(batch.classes + i * TIME, 2, told, TIME);
            check_array(memory.scratch + i * SCRATCH, 6, told, SCRATCH);
        }
        CHECK(!batch.values && !batch.input.starts && !batch.input.segments && !batch.input.positions);
        CHECK_INT(batch.source.batch, 0);
    }
    const struct row_order validation = {
        .task = &task, .split = TASK_VALIDATION, .seed = SEED, .rows = ROWS + 1};
    CHECK_INT(rows_within(&validation, (struct batch_size){.rows = ROWS}, ROWS), 1);
    CHECK_INT(batch_fill(&memory, &validation, 3, 1, 1).input.tokens[0], number(1, 3, 0));
    rotary_arena_free(&arena);
}

/* Examples 4, 5, 0 and 1 of a corpus, which is read from its beginning after its end. */
static void test_examples(struct task_shape shape)
{
    const struct task task = {.type = &type, .config.task = TASK_MASKED, .shape = shape};
    const struct row_order order = {.task = &task, .split = TASK_TEST, .seed = SEED};
    const int64_t sequences = shape.choices > 0 ? shape.choices : 1;
    struct rotary_arena arena = {0};
    const struct batch_memory memory = memory_of(&task, &arena);
    const struct batch batch = batch_fill(&memory, &order, 4, ROWS, 2);
    int32_t tokens = 0, source = 0;
    CHECK_INT(rows_within(&order, (struct batch_size){.rows = ROWS}, 4), 2);
    CHECK_INT(batch.choices, shape.choices);
    CHECK_INT(batch.input.segments != NULL, shape.segments);
    CHECK_INT(batch.values != NULL, shape.values);
    CHECK_INT(batch.classes != NULL, !shape.values);
    CHECK_INT(batch.input.batch, ROWS * sequences);
    CHECK_INT(batch.source.batch, shape.source_time > 0 ? ROWS : 0);
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t index = (4 + i) % EXAMPLES, count = 3 + index % 3;
        for (int32_t s = 0; s < sequences; s++)
            CHECK_INT(batch.input.starts[i * sequences + s], tokens + s);
        check_array(batch.input.tokens + tokens, 1, index, count);
        if (batch.classes)
            check_array(batch.classes + (shape.labels ? i : tokens), 2, index, shape.labels ? 1 : count);
        if (batch.input.segments)
            check_array(batch.input.segments + tokens, 3, index, count);
        if (batch.values)
            CHECK_NEAR((double)batch.values[i], (double)index, 0);
        if (batch.source.batch > 0) {
            CHECK_INT(batch.source.starts[i], source);
            check_array(batch.source.tokens + source, 4, index, 1 + index % 2);
            source += (int32_t)(1 + index % 2);
        }
        tokens += (int32_t)count;
    }
    CHECK_INT(batch.input.starts[ROWS * sequences], tokens);
    CHECK_INT(token_rows(&batch.input), tokens);
    CHECK_INT(token_rows(&batch.source), source);
    CHECK_INT(batch_targets(&task, &batch), shape.labels ? ROWS : tokens);
    rotary_arena_free(&arena);
}

int main(void)
{
    test_steps();
    test_examples((struct task_shape){.time = TIME});
    test_examples((struct task_shape){.time = TIME, .source_time = TIME});
    test_examples((struct task_shape){.time = TIME, .segments = true, .labels = true});
    test_examples((struct task_shape){.time = TIME, .labels = true, .values = true});
    test_examples((struct task_shape){.time = TIME, .segments = true, .labels = true, .choices = CHOICES});
    return check_report();
}
