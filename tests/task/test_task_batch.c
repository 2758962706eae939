/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a batch: every row goes to its own place, in every array that the task's shape has, and the
 * parts of a batch are views of it.
 */
#include "task/task_batch.h"
#include "task/text.h"

enum { TIME = 5, SOURCE_TIME = 3, SCRATCH = 2, ROWS = 4 };

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

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const struct task_shape shape = task->shape;
    fill_array(1, place->row, row->tokens, shape.time);
    fill_array(2, place->row, row->classes, shape.time);
    CHECK_INT(row->length != NULL, shape.lengths);
    CHECK_INT(row->source != NULL, shape.source_time > 0);
    CHECK_INT(row->source_length != NULL, shape.lengths && shape.source_time > 0);
    CHECK_INT(row->scratch != NULL, shape.scratch > 0);
    if (row->length)
        fill_array(3, place->row, row->length, 1);
    if (row->source)
        fill_array(4, place->row, row->source, shape.source_time);
    if (row->source_length)
        fill_array(5, place->row, row->source_length, 1);
    if (row->scratch)
        fill_array(6, place->row, row->scratch, shape.scratch);
}

static void check_array(const int32_t *memory, int array, int64_t first, int64_t rows, int64_t count)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < count; i++)
            CHECK_INT(memory[row * count + i], number(array, first + row, i));
}

static void check_view(const struct task_batch *memory, int64_t first, int64_t rows)
{
    const struct task_shape shape = memory->shape;
    const struct batch batch = task_batch_view(memory, first, rows);
    check_about("rows %lld ... %lld", (long long)first, (long long)(first + rows - 1));
    CHECK_INT(batch.input.batch, rows);
    CHECK_INT(batch.input.time, TIME);
    check_array(batch.input.tokens, 1, first, rows, TIME);
    check_array(batch.classes, 2, first, rows, TIME);
    CHECK_INT(batch.input.lengths != NULL, shape.lengths);
    if (batch.input.lengths)
        check_array(batch.input.lengths, 3, first, rows, 1);
    CHECK_INT(batch.source.batch, shape.source_time > 0 ? rows : 0);
    CHECK_INT(batch.source.time, shape.source_time);
    if (batch.source.batch > 0)
        check_array(batch.source.tokens, 4, first, rows, SOURCE_TIME);
    CHECK_INT(batch.source.lengths != NULL, shape.lengths && shape.source_time > 0);
    if (batch.source.lengths)
        check_array(batch.source.lengths, 5, first, rows, 1);
    CHECK(!batch.values && !batch.input.starts && !batch.input.segments && !batch.input.positions);
    check_about("%s", "");
}

static void test_shape(struct task_shape shape)
{
    const struct task_type kind = {.fill = fill};
    const struct task task = {.type = &kind, .shape = shape};
    struct rotary_arena arena = {0};
    struct task_batch memory;
    task_batch_carve(&memory, &task, ROWS, &arena);
    if (!CHECK_INT(rotary_arena_allocate(&arena, "a batch", NULL), ROTARY_OK))
        return;
    task_batch_carve(&memory, &task, ROWS, &arena);
    CHECK_INT((int64_t)arena.used, (int64_t)arena.capacity);
    for (int64_t row = ROWS - 1; row >= 0; row--)
        task_batch_fill(&memory, row, &(struct task_place){.row = row});
    check_view(&memory, 0, ROWS);
    check_view(&memory, 0, 1);
    check_view(&memory, 1, 2);
    check_view(&memory, ROWS - 1, 1);
    rotary_arena_free(&arena);
}

/* The settings of all tasks have room, not much more than they need, and none are another's. */
static void test_options(void)
{
    struct task_config config;
    struct settings settings[TASK_SETTINGS];
    const char *last = (const char *)&config.options;
    size_t bytes = 0;
    task_config_default(&config);
    task_settings(&config, settings);
#define OPTIONS_FIT(NAME, name)                                                                              \
    check_about("%s", #name);                                                                                \
    CHECK((const char *)settings[1 + TASK_##NAME].structure >= last);                                        \
    CHECK(task_options(&config, TASK_##NAME) == settings[1 + TASK_##NAME].structure);                        \
    CHECK((uintptr_t)task_options(&config, TASK_##NAME) % sizeof(double) == 0);                              \
    last = (const char *)settings[1 + TASK_##NAME].structure + task_type_##name.options_bytes;               \
    bytes = (size_t)(last - (const char *)&config.options);
    ROTARY_TASKS(OPTIONS_FIT)
    check_about("%zu bytes", bytes);
    CHECK(bytes <= TASK_OPTIONS_BYTES && 2 * bytes > TASK_OPTIONS_BYTES);
}

int main(void)
{
    test_shape((struct task_shape){.time = TIME});
    test_shape((struct task_shape){.time = TIME, .scratch = SCRATCH});
    test_shape((struct task_shape){.time = TIME, .lengths = true});
    test_shape((struct task_shape){.time = TIME, .source_time = SOURCE_TIME});
    test_shape(
        (struct task_shape){.time = TIME, .source_time = SOURCE_TIME, .lengths = true, .scratch = SCRATCH});
    test_options();
    return check_report();
}
