/* SPDX-License-Identifier: Apache-2.0
 *
 * The example of docs/how-to/add-a-task.md: one file and one line make a task that is configured,
 * trained, killed and resumed like the others.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "train/trainer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRAINED = 13, HELD_OUT = 3, TIME = 64, ROWS = 6, BATCH = 3 };

/* A model that learns the lines, 6 rows per step: an epoch of 13 lines ends within a step. */
static void lines_config(struct run_config *config)
{
    tiny_config(config);
    config->task.task = TASK_LINES;
    config->task.sequence_length = TIME;
    config->model.vocab_size = 0;
    config->model.max_position_embeddings = 0;
    config->model.dropout = 0.1;
    config->train.batch_size = BATCH;
    config->train.gradient_accumulation_steps = ROWS / BATCH;
    config->train.steps = 30;
    config->train.learning_rate = 1e-2;
    config->train.evaluate_every = 10;
    config->train.checkpoint_every = 5;
    config->train.validation_sequences = HELD_OUT;
    rotary_error error;
    if (!CHECK(run_config_check(config, &error) == ROTARY_OK))
        printf("%s\n", error.message);
}

static struct task *task_of(const struct run_config *config)
{
    struct task *task = NULL;
    if (!CHECK_INT(task_create(&task, &config->task, NULL, NULL), ROTARY_OK))
        exit(check_report());
    return task;
}

struct row {
    int32_t tokens[TIME], classes[TIME], length;
};

static struct row row_at(const struct row_order *order, int64_t ordinal)
{
    struct row row;
    const struct task_place place = place_at(order, ordinal);
    memset(&row, 0x55, sizeof row);
    task_fill(order->task, &place, &(struct task_row){.tokens = row.tokens, .classes = row.classes});
    row.length = (int32_t)example_at(order, ordinal).target_count;
    return row;
}

/* Checks the form of a row, and copies its line. */
static void read_row(const struct task *task, const struct row *row, char line[TIME + 1])
{
    const struct tokenizer *tokenizer = task_tokenizer(task);
    const struct special_tokens special = tokenizer_special(tokenizer);
    int64_t length = tokenizer_decode(tokenizer, row->tokens, row->length, line, TIME + 1);
    CHECK(length > 20 && length < TIME);
    CHECK_INT(row->length, length + 1);
    CHECK_INT(row->tokens[0], special.begin);
    for (int i = 0; i <= length; i++)
        CHECK_INT(row->classes[i], i < length ? row->tokens[i + 1] : special.end);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Every epoch has every line of training once, in another order; the others are the validation data. */
static void test_epochs(void)
{
    enum { EPOCHS = 3 };
    struct run_config config;
    lines_config(&config);
    struct task *task = task_of(&config);
    CHECK_INT(config.model.vocab_size, 259);
    CHECK(!task_has_problems(task));
    static char first[EPOCHS][TRAINED][TIME + 1], line[HELD_OUT][TIME + 1];
    const struct row_order training = {.task = task, .seed = 1};
    for (int64_t done = 0; done < EPOCHS * TRAINED; done++) {
        const struct row row = row_at(&training, done);
        read_row(task, &row, first[done / TRAINED][done % TRAINED]);
    }
    CHECK(memcmp(first[0], first[1], sizeof first[0]) != 0 &&
          memcmp(first[1], first[2], sizeof first[0]) != 0);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        qsort(first[epoch], TRAINED, TIME + 1, compare);
    for (int i = 0; i < TRAINED; i++) {
        CHECK_TEXT(first[1][i], first[0][i]);
        CHECK_TEXT(first[2][i], first[0][i]);
        CHECK(i == 0 || strcmp(first[0][i - 1], first[0][i]) != 0);
    }
    const struct row_order validation = {.task = task, .split = TASK_VALIDATION};
    for (int64_t i = 0; i < HELD_OUT; i++) {
        const struct row row = row_at(&validation, i);
        read_row(task, &row, line[i]);
        CHECK(bsearch(line[i], first[0], TRAINED, TIME + 1, compare) == NULL);
    }
    CHECK_TEXT(line[HELD_OUT - 1], "Each a glimpse and gone for ever!");
    task_destroy(task);

    /* A line that does not fit is cut, and does not end. */
    config.task.sequence_length = 16;
    task = task_of(&config);
    const struct row row = row_at(&(struct row_order){.task = task, .split = TASK_VALIDATION}, 2);
    CHECK_INT(row.length, 16);
    CHECK_INT(row.tokens[15], ' ');
    CHECK_INT(row.classes[14], ' ');
    CHECK_INT(row.classes[15], 'a');
    task_destroy(task);
}

/* The task's name and settings are known wherever those of the others are. */
static void test_configuration(void)
{
    struct run_config config;
    lines_config(&config);
    set_option(&config, "lines_validation=5");
    json_t *object;
    CHECK_INT(run_config_to_json(&config, &object, NULL), ROTARY_OK);
    CHECK_TEXT(json_string_value(json_object_get(object, "task")), "lines");
    CHECK_INT(json_integer_value(json_object_get(object, "lines_validation")), 5);
    CHECK_INT(json_integer_value(json_object_get(object, "index_letters")), 5);
    struct run_config read;
    rotary_error error = {0};
    CHECK_INT(run_config_from_json(&read, object, "test", NULL), ROTARY_OK);
    CHECK_INT(read.task.task, TASK_LINES);
    json_object_set_new(object, "lines_validation", json_integer(9));
    CHECK_INT(run_config_from_json(&read, object, "test", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "lines_validation|9|1 to 8");
    json_object_set_new(object, "task", json_string("line"));
    CHECK_INT(run_config_from_json(&read, object, "test", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message,
                "wanted addition, classification, copy|translation or lines|did you mean \"lines\"");
    json_decref(object);
}

/* ---- training ---- */

static int64_t dies_at;

static void die(void *argument, const struct train_progress *progress)
{
    (void)argument;
    if (progress->step == dies_at)
        raise(SIGKILL);
}

/* Trains in a child process, which is killed after step `step`; 0: it trains to the end. A process that has
 * run threads cannot fork one that runs threads, so all training is done by children. */
static void train_in_child(const struct run_config *config, const char *folder, int64_t step)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct backend backend;
        struct train_result result;
        rotary_error error = {0};
        dies_at = step;
        rotary_status status = backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error);
        struct train_call call = {
            .config = config, .backend = &backend, .folder = folder, .resume = true, .progress = die};
        if (status == ROTARY_OK)
            status = train_run(&call, &result, &error);
        printf("%s", error.message);
        fflush(stdout);
        _exit(status == ROTARY_OK ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (step > 0)
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The number after the last `key` of a text; NAN if there is none. */
static double last_number(const char *text, const char *key)
{
    const char *last = NULL;
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key))
        last = at + strlen(key);
    return last ? strtod(last, NULL) : 0.0 / 0.0;
}

/* A run that was killed twice in the middle of an epoch, once between two checkpoints, ends with the bytes of
 * one that was not. */
static void test_resume(int64_t batch_tokens)
{
    struct run_config config;
    lines_config(&config);
    config.train.batch_tokens = batch_tokens;
    char complete[512], killed[512], name[32];
    snprintf(name, sizeof name, "complete%d", (int)batch_tokens);
    snprintf(complete, sizeof complete, "%s", new_folder(name));
    snprintf(name, sizeof name, "killed%d", (int)batch_tokens);
    snprintf(killed, sizeof killed, "%s", new_folder(name));
    train_in_child(&config, complete, 0);
    train_in_child(&config, killed, 12); /* resumes at step 10: example 60, the eighth of the fifth epoch */
    train_in_child(&config, killed, 23);
    train_in_child(&config, killed, 0);
    CHECK(same_file(complete, killed, "model.safetensors"));
    CHECK(same_file(complete, killed, "optimizer.safetensors"));
    CHECK(same_file(complete, killed, "best.safetensors"));
    char *lines = timeless_metrics(complete), *resumed = timeless_metrics(killed);
    CHECK_TEXT(resumed, lines);
    double first = last_number(lines, "\"step\":3,\"loss\":"),
           last = last_number(lines, "\"step\":30,\"loss\":");
    printf("loss %g at first, %g at last\n", first, last);
    CHECK(first > 4.5 && last < 3.2);
    free(lines);
    free(resumed);
}

/* The tokens of bytes that are no text of their own are lists of bytes in config.json. */
static void test_vocabulary(void)
{
    struct run_config config, read;
    lines_config(&config);
    const char *folder = new_folder("vocabulary");
    write_config(folder, &config);
    CHECK(run_read_config(folder, &read, NULL) == ROTARY_OK);
    size_t count;
    char *text = read_file(folder, "config.json", &count);
    json_t *object = json_loads(text, 0, NULL);
    const json_t *tokens = json_object_get(object, "vocabulary");
    CHECK_INT((int64_t)json_array_size(tokens), config.model.vocab_size);
    static const int lists[] = {0, 200};
    for (int i = 0; i < 2; i++)
        CHECK_INT(json_integer_value(json_array_get(json_array_get(tokens, (size_t)lists[i]), 0)), lists[i]);
    CHECK_TEXT(json_string_value(json_array_get(tokens, 'a')), "a");
    const json_t *special = json_object_get(object, "special_tokens");
    CHECK_INT((int64_t)json_object_size(special), 3);
    CHECK_TEXT(json_string_value(
                   json_array_get(tokens, (size_t)json_integer_value(json_object_get(special, "begin")))),
               "<s>");
    json_decref(object);
    free(text);
}

/* The trainer's steps have the rows that the task has for them: its micro-batches are one step of an epoch.
 */
static void test_steps(void)
{
    struct run_config config;
    lines_config(&config);
    struct backend backend;
    struct trainer trainer;
    rotary_error error;
    if (!CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        return;
    if (CHECK_INT(trainer_create(&trainer, &config, NULL, &backend, &error), ROTARY_OK)) {
        for (uint32_t step = 1; step <= 3; step++) {
            struct trainer_step result;
            CHECK_INT(trainer_step(&trainer, step, &result, &error), ROTARY_OK);
            for (int64_t i = 0; i < ROWS; i++) {
                const struct row_order order = {.task = trainer.task, .seed = (uint64_t)config.train.seed};
                const struct row row = row_at(&order, (step - 1) * ROWS + i);
                const struct token_sequences *lines = &trainer.data[0].batches[i / BATCH].input;
                const int32_t *starts = lines->starts + i % BATCH;
                CHECK_INT(lines->batch, BATCH);
                CHECK_INT(starts[1] - starts[0], row.length);
                CHECK(memcmp(lines->tokens + starts[0], row.tokens, (size_t)row.length * sizeof(int32_t)) ==
                      0);
            }
        }
        trainer_destroy(&trainer);
    }
    backend_destroy(&backend);
}

int main(void)
{
    test_epochs();
    test_configuration();
    test_resume(0);
    test_resume(140); /* three lines, or four short ones */
    test_vocabulary();
    test_steps(); /* last: it may run threads */
    return check_report();
}
