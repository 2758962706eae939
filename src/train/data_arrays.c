/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data_arrays.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/memory.h"
#include "train/batch_size.h"
#include "train/trainer.h"

#include <string.h>

const char *const data_split_names[] = {"training", "validation", "test", "problems", NULL};

const int32_t *data_arrays_row(const struct data_arrays *data, enum data_array array, int64_t row)
{
    return data->values + ((int64_t)array * data->rows + row) * data->time;
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct data_arrays *data, const struct task *task, struct task_batch *batch)
{
    data->values =
        rotary_arena_push(&data->arena, data->rows, (size_t)(data->arrays * data->time) * sizeof(int32_t));
    if (data->split != DATA_PROBLEMS)
        task_batch_carve(batch, task, data->rows, &data->arena);
    data->numbers = batch->values;
}

/* Copies rows of `time` tokens, of which the first lengths[row] are there; NULL: all of them. */
static void copy_tokens(const struct data_arrays *data, enum data_array array, const int32_t *tokens,
                        const int32_t *lengths)
{
    for (int64_t row = 0; row < data->rows; row++) {
        int32_t *values = data->values + ((int64_t)array * data->rows + row) * data->time;
        for (int64_t i = 0; i < data->time; i++)
            values[i] = !lengths || i < lengths[row] ? tokens[row * data->time + i] : BATCH_IGNORED;
    }
}

static void copy_rows(const struct data_arrays *data, const struct task_batch *batch)
{
    const int64_t count = data->rows * data->time;
    copy_tokens(data, DATA_TOKENS, batch->tokens, batch->lengths);
    if (data->arrays > DATA_SOURCE)
        copy_tokens(data, DATA_SOURCE, batch->source, batch->source_lengths);
    memcpy(data->values + count, batch->classes, (size_t)count * sizeof(int32_t));
    for (int64_t i = 0; i < count; i++)
        data->values[2 * count + i] = batch->classes[i] != BATCH_IGNORED;
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

/* The number of rows of the request's step, and the first of them. */
static int64_t find_step(const struct task *task, const struct data_request *request,
                         struct task_place *first)
{
    const struct train_config *train = &request->config->train;
    const int64_t batches = train->gradient_accumulation_steps;
    if (request->split != DATA_TRAINING)
        return 0;
    if (!task_has_examples(&request->config->task)) {
        *first = training_place((uint64_t)train->seed, request->step);
        return train->batch_size * batches;
    }
    const struct example_order order = {.task = task, .seed = (uint64_t)train->seed};
    const struct batch_size size = run_batch_size(request->config);
    struct example_cursor cursor = {0};
    example_cursor_move(&cursor, &order, size, (request->step - 1) * batches);
    *first =
        (struct task_place){.seed = order.seed, .step = (uint32_t)request->step, .ordinal = cursor.ordinal};
    example_cursor_move(&cursor, &order, size, request->step * batches);
    return cursor.ordinal - first->ordinal;
}

/* Sets the numbers of arrays, rows and columns, and the first row. */
static rotary_status size(struct data_arrays *data, const struct task *task,
                          const struct data_request *request, struct task_place *first, rotary_error *error)
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
    *data = (struct data_arrays){.split = request->split};
    struct task_batch batch = {.task = NULL};
    const uint64_t seed = (uint64_t)request->config->train.seed;
    struct task_place first = validation_place(seed, 0);
    if (request->split == DATA_TEST)
        first.split = TASK_TEST;
    rotary_status status = size(data, task, request, &first, error);
    if (status != ROTARY_OK)
        return status;
    carve(data, task, &batch);
    status = memory_check(data->arena.used, "the data", error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&data->arena, "the data", error);
    if (status != ROTARY_OK)
        return status;
    carve(data, task, &batch);
    if (data->split == DATA_PROBLEMS) {
        status = fill_problems(data, task, seed, error);
    } else {
        (void)batch_fill(&batch, 1, &first);
        copy_rows(data, &batch);
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
