/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data_arrays.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/memory.h"
#include "train/batch_size.h"

#include <string.h>

const char *const data_split_names[] = {"training", "validation", "test", "problems", NULL};

const int32_t *data_arrays_row(const struct data_arrays *data, enum data_array array, int64_t row)
{
    return data->values + ((int64_t)array * data->rows + row) * data->time;
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct data_arrays *data, const struct task *task, struct batch_memory *memory)
{
    data->values =
        rotary_arena_push(&data->arena, data->rows, (size_t)(data->arrays * data->time) * sizeof(int32_t));
    if (data->split != DATA_PROBLEMS)
        batch_carve(memory, task, data->rows * data->time, &data->arena);
    data->numbers = memory->values;
}

/* Copies rows of `time` tokens one behind another, or where starts are given of as many as these say. A row
 * may have several sequences. */
static void copy_rows(const struct data_arrays *data, enum data_array array, const int32_t *tokens,
                      const int32_t *starts, int64_t sequences)
{
    for (int64_t row = 0; row < data->rows; row++) {
        int32_t *values = data->values + ((int64_t)array * data->rows + row) * data->time;
        const int64_t first = starts ? starts[row * sequences] : row * data->time,
                      end = starts ? starts[(row + 1) * sequences] : first + data->time;
        for (int64_t i = 0; i < data->time; i++)
            values[i] = first + i < end ? tokens[first + i] : BATCH_IGNORED;
    }
}

static void copy_batch(const struct data_arrays *data, const struct task *task,
                       const struct batch_memory *memory)
{
    const int64_t count = data->rows * data->time, sequences = max_i64(task_shape(task).choices, 1);
    copy_rows(data, DATA_TOKENS, memory->tokens, memory->starts, sequences);
    if (data->arrays > DATA_SOURCE)
        copy_rows(data, DATA_SOURCE, memory->source, memory->source_starts, 1);
    int32_t *targets = data->values + DATA_TARGETS * count;
    if (!task_shape(task).labels)
        copy_rows(data, DATA_TARGETS, memory->classes, memory->starts, sequences);
    for (int64_t i = 0; task_shape(task).labels && i < count; i++)
        targets[i] = i % data->time == 0 ? memory->classes[i / data->time] : BATCH_IGNORED;
    for (int64_t i = 0; i < count; i++)
        data->values[DATA_MASK * count + i] = targets[i] != BATCH_IGNORED;
}

static rotary_status encode(const struct data_arrays *data, const struct task *task, const char *text,
                            int32_t *row, rotary_error *error)
{
    for (int64_t i = 0; i < data->time; i++)
        row[i] = BATCH_IGNORED;
    struct token_list list = {.tokens = row, .capacity = data->time};
    return tokenizer_encode(task_tokenizer(task), text, (int64_t)strlen(text), &list, error);
}

static rotary_status fill_problems(const struct data_arrays *data, const struct task *task, uint64_t seed,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < data->rows; i++) {
        struct problem problem;
        task_problem(task, seed, i, &problem);
        int32_t *prompt = data->values + i * data->time, *answer = prompt + data->rows * data->time;
        status = encode(data, task, problem.prompt, prompt, error);
        if (status == ROTARY_OK)
            status = encode(data, task, problem.answer, answer, error);
    }
    return status;
}

/* The number of rows of the request's step, and the ordinal of the first. */
static int64_t find_step(const struct task *task, const struct data_request *request, int64_t *first)
{
    const int64_t batches = request->config->train.gradient_accumulation_steps;
    const struct row_order order = run_training_order(request->config, task);
    const struct batch_size size = run_batch_size(request->config);
    struct row_cursor cursor = {0};
    if (request->split != DATA_TRAINING)
        return 0;
    row_cursor_move(&cursor, &order, size, (request->step - 1) * batches);
    *first = cursor.ordinal;
    row_cursor_move(&cursor, &order, size, request->step * batches);
    return cursor.ordinal - *first;
}

/* Sets the numbers of arrays, rows and columns, and the first row. */
static rotary_status size(struct data_arrays *data, const struct task *task,
                          const struct data_request *request, int64_t *first, rotary_error *error)
{
    const struct train_config *train = &request->config->train;
    const int64_t tested = task_examples(task, TASK_TEST);
    const int64_t rows[] = {[DATA_TRAINING] = find_step(task, request, first),
                            [DATA_VALIDATION] = train->validation_sequences,
                            [DATA_TEST] = min_i64(train->validation_sequences, tested),
                            [DATA_PROBLEMS] = request->config->task.problems};
    data->rows = request->rows > 0 ? request->rows : rows[data->split];
    if (data->split == DATA_PROBLEMS && !task_has_problems(task))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "task %s has no problems: wanted training or validation data",
                           task_names[request->config->task.task]);
    if (data->split == DATA_TEST && tested == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "task %s has no test set: wanted training or validation data",
                           task_names[request->config->task.task]);
    if (data->split == DATA_TEST && data->rows > tested)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld rows of test data: wanted at most %lld, as many as task %s has",
                           (long long)data->rows, (long long)tested, task_names[request->config->task.task]);
    if (data->split == DATA_TRAINING && data->rows > rows[DATA_TRAINING])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld rows of a training step: wanted at most %lld, as many as it has",
                           (long long)data->rows, (long long)rows[DATA_TRAINING]);
    if (data->split != DATA_PROBLEMS) {
        data->arrays = task_shape(task).source_time > 0 ? DATA_SOURCE + 1 : DATA_SOURCE;
        data->time = task_shape(task).time;
        return ROTARY_OK;
    }
    const struct problem_size problem = task_problem_size(task);
    data->arrays = 2;
    data->time = problem.prompt > problem.completion ? problem.prompt : problem.completion;
    return ROTARY_OK;
}

rotary_status data_arrays_create(struct data_arrays *data, const struct task *task,
                                 const struct data_request *request, rotary_error *error)
{
    static const enum task_split splits[] = {TASK_TRAINING, TASK_VALIDATION, TASK_TEST};
    *data = (struct data_arrays){.split = request->split};
    struct batch_memory memory = {.tokens = NULL};
    int64_t first = 0;
    rotary_status status = size(data, task, request, &first, error);
    if (status != ROTARY_OK)
        return status;
    carve(data, task, &memory);
    status = memory_check(data->arena.used, "the data", error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&data->arena, "the data", error);
    if (status != ROTARY_OK)
        return status;
    carve(data, task, &memory);
    struct row_order order = run_training_order(request->config, task);
    if (data->split == DATA_PROBLEMS) {
        status = fill_problems(data, task, order.seed, error);
    } else {
        order.split = splits[data->split];
        order.rows = data->split == DATA_TRAINING ? order.rows : data->rows;
        (void)batch_fill(&memory, &order, first, data->rows, 1);
        copy_batch(data, task, &memory);
    }
    if (status != ROTARY_OK)
        data_arrays_free(data);
    return status;
}

void data_arrays_free(struct data_arrays *data)
{
    rotary_arena_free(&data->arena);
    *data = (struct data_arrays){0};
}
