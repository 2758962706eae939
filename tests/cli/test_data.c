/* SPDX-License-Identifier: Apache-2.0
 *
 * What `rotary data --output` writes is what training learned from and evaluation read: the rows in the
 * memory of a trainer after a step, and the rows and problems that the task itself gives.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "cli/command.h"
#include "file/npy.h"
#include "train/data_arrays.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 12 };

/* Runs `rotary data` with these words. */
static enum exit_status data(const char *const words[WORDS])
{
    struct invocation invocation = {.command = &command_data};
    void *options = calloc(1, command_data.options_size);
    const char *operands[WORDS];
    struct settings sets[COMMAND_MAX_SETS];
    int set_count = command_option_sets(&command_data, options, &invocation.common, sets), count = 0;
    while (count < WORDS && words[count])
        count++;
    const struct command_line line = {sets, set_count, count, words, NULL};
    const struct setting *about;
    invocation.operands.items = operands;
    invocation.options = options;
    rotary_error error = {0};
    if (!CHECK(arguments_parse(&line, &invocation.operands, &about, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    enum exit_status status = command_data.run(&invocation);
    free(options);
    return status;
}

static struct npy read_array(const char *path, int64_t arrays, int64_t rows, int64_t time)
{
    struct npy array = {0};
    rotary_error error = {0};
    if (!CHECK(npy_read(path, &array, &error) == ROTARY_OK)) {
        printf("%s\n", error.message);
        return array;
    }
    CHECK(array.type == NPY_I32);
    CHECK_INT(array.dimensions, 3);
    CHECK_INT(array.shape[0], arrays);
    CHECK_INT(array.shape[1], rows);
    CHECK_INT(array.shape[2], time);
    return array;
}

/* Of the mask: 1 where there is a target. */
static void check_arrays(const struct npy *array, const int32_t *tokens, const int32_t *classes)
{
    const int64_t count = array->shape[1] * array->shape[2];
    const int32_t *values = array->data;
    CHECK(count > 100);
    CHECK(memcmp(values, tokens, (size_t)count * sizeof(int32_t)) == 0);
    CHECK(memcmp(values + count, classes, (size_t)count * sizeof(int32_t)) == 0);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(values[2 * count + i], classes[i] != BATCH_IGNORED);
}

static void test_training(const struct run_config *config, const char *folder)
{
    static const char *const steps[] = {"1", "7"};
    struct backend backend;
    struct trainer trainer;
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    CHECK(trainer_create(&trainer, config, NULL, &backend, NULL) == ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        const char *path = scratch_path("batch.npy"), *const words[WORDS] = {"index",  "--run",  folder,
                                                                             "--step", steps[i], "--output",
                                                                             path};
        CHECK_INT(data(words), EXIT_DONE);
        struct trainer_step taken;
        CHECK(trainer_step(&trainer, atoi(steps[i]), &taken, NULL) == ROTARY_OK);
        struct npy array = read_array(path, 3, 4, 48); /* two micro-batches of two rows */
        int32_t tokens[4 * 48], classes[4 * 48];
        for (int b = 0; b < 2; b++) {
            memcpy(tokens + b * 96, trainer.data[0].batches[b].input.tokens, 96 * sizeof *tokens);
            memcpy(classes + b * 96, trainer.data[0].batches[b].classes, 96 * sizeof *classes);
        }
        check_arrays(&array, tokens, classes);
        npy_free(&array);
    }
    trainer_destroy(&trainer);
    backend_destroy(&backend);
}

static void test_validation(const struct run_config *config, const char *folder)
{
    const char *path = scratch_path("validation.npy"), *const words[WORDS] = {
                                                           "index",   "--run",      folder,
                                                           "--split", "validation", "--rows",
                                                           "5",       "--output",   path};
    CHECK_INT(data(words), EXIT_DONE);
    struct npy array = read_array(path, 3, 5, 48);
    int32_t tokens[5 * 48], classes[5 * 48], scratch[64];
    struct task *task;
    CHECK(task_create(&task, &config->task, NULL, NULL) == ROTARY_OK);
    for (int row = 0; row < 5; row++) {
        const struct task_place place = {
            .split = TASK_VALIDATION, .seed = (uint64_t)config->train.seed, .index = row};
        const struct task_row memory = {
            .tokens = tokens + 48 * row, .classes = classes + 48 * row, .scratch = scratch};
        task_fill(task, &place, &memory);
    }
    check_arrays(&array, tokens, classes);
    npy_free(&array);
    task_destroy(task);
}

static void check_row(const struct task *task, const int32_t *row, int64_t time, const char *wanted)
{
    char text[TASK_TEXT_BYTES];
    int64_t count = 0;
    while (count < time && row[count] != -1)
        count++;
    tokenizer_decode(task_tokenizer(task), row, count, text, sizeof text);
    CHECK_TEXT(text, wanted);
    for (; count < time; count++)
        CHECK_INT(row[count], -1);
}

static void test_problems(const struct run_config *config, const char *folder)
{
    const char *path = scratch_path("problems.npy"), *const words[WORDS] = {"index",   "--run",    folder,
                                                                            "--split", "problems", "--rows",
                                                                            "9",       "--output", path};
    CHECK_INT(data(words), EXIT_DONE);
    struct task *task;
    CHECK(task_create(&task, &config->task, NULL, NULL) == ROTARY_OK);
    int64_t time = task_problem_size(task).prompt;
    struct npy array = read_array(path, 2, 9, time);
    const int32_t *values = array.data;
    for (int i = 0; i < 9; i++) {
        struct problem problem;
        task_problem(task, (uint64_t)config->train.seed, i, &problem);
        check_row(task, values + i * time, time, problem.prompt);
        check_row(task, values + (9 + i) * time, time, problem.answer);
    }
    npy_free(&array);
    task_destroy(task);
}

int main(void)
{
    struct run_config config;
    tiny_config(&config);
    config.train.seed = 11;
    const char *folder = new_folder("run");
    write_config(folder, &config);
    test_training(&config, folder);
    test_validation(&config, folder);
    test_problems(&config, folder);
    return check_report();
}
