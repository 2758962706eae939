/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of a number of tokens or of examples: which examples they have, and how many steps an epoch has.
 * (test_lines.c kills and resumes such runs; tests/train/test_packed_training.c compares with
 * sentences alone.)
 */
#include "support/allocations.h"
#include "support/check.h"
#include "support/parameter_copy.h"
#include "train/runs.h"

#include "base/clock.h"
#include "task/permutation.h"
#include "train/trainer.h"
#include "train/unused_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 13, TIME = 64, BUDGET = 140, SEED = 7 };
static const struct batch_size budget = {.tokens = BUDGET};

static void packed_config(struct run_config *config)
{
    tiny_config(config);
    config->task.task = TASK_LINES;
    config->task.sequence_length = TIME;
    config->model.vocab_size = 0;
    config->model.max_position_embeddings = 0;
    config->train.seed = SEED;
    config->train.batch_tokens = BUDGET;
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

/* The index of the example at a place of the training data. */
static int64_t index_at(int64_t ordinal)
{
    return permutation_at(SEED, (uint64_t)(ordinal / EXAMPLES), EXAMPLES, ordinal % EXAMPLES);
}

/* Whether a batch of `count` examples that end before `ordinal`, with `tokens` tokens, has the wanted size.
 */
static bool has_size(const struct task *task, struct batch_size size, int64_t count, int64_t tokens,
                     int64_t ordinal)
{
    if (size.rows > 0)
        return count == size.rows;
    return tokens <= BUDGET &&
           tokens + task_example(task, TASK_TRAINING, index_at(ordinal)).target_count > BUDGET;
}

/* Batches follow one another, each of its size, or as large as it can be, and have the examples' tokens. */
static void test_cut(const struct task *task, struct batch_size size)
{
    enum { BATCHES = 40 };
    const struct row_order order = {.task = task, .seed = SEED};
    struct rotary_arena arena = {0};
    struct batch_memory memory;
    batch_carve(&memory, task, size.tokens, &arena);
    CHECK_INT(rotary_arena_allocate(&arena, "a batch", NULL), ROTARY_OK);
    batch_carve(&memory, task, size.tokens, &arena);
    int64_t ordinal = 0, fewest = EXAMPLES, most = 0;
    for (int64_t batch = 0; batch < BATCHES; batch++) {
        struct row_cursor cursor = {.batch = batch == 5 ? 9 : 0, .ordinal = batch == 5 ? 999 : 0};
        row_cursor_move(&cursor, &order, size, batch);
        CHECK_INT(cursor.batch, batch);
        CHECK_INT(cursor.ordinal, ordinal);
        const int64_t count = rows_within(&order, size, ordinal);
        const struct batch packed = batch_fill(&memory, &order, ordinal, count, 2);
        CHECK_INT(packed.input.batch, count);
        CHECK_INT(packed.source.batch, 0);
        int64_t tokens = 0;
        for (int64_t i = 0; i < count; i++, ordinal++) {
            const struct task_example example = task_example(task, TASK_TRAINING, index_at(ordinal));
            CHECK_INT(packed.input.starts[i], tokens);
            CHECK(memcmp(packed.input.tokens + tokens, example.target,
                         (size_t)example.target_count * sizeof(int32_t)) == 0);
            CHECK(memcmp(packed.classes + tokens, example.target + 1,
                         (size_t)example.target_count * sizeof(int32_t)) == 0);
            tokens += example.target_count;
        }
        CHECK_INT(packed.input.starts[count], tokens);
        CHECK(has_size(task, size, count, tokens, ordinal));
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    CHECK(size.rows > 0 || fewest < most);
    rotary_arena_free(&arena);
}

/* A split that is read in its own order has an end. */
static void test_splits(const struct task *task)
{
    const struct row_order validation = {.task = task, .split = TASK_VALIDATION, .seed = SEED};
    static const struct batch_size sizes[] = {{.tokens = 1000}, {.rows = 4, .tokens = 1000}};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(rows_within(&validation, sizes[i], 0), 3);
        CHECK_INT(rows_within(&validation, sizes[i], 2), 1);
        CHECK_INT(rows_within(&validation, sizes[i], 3), 0);
    }
    CHECK(example_at(&validation, 1).target == task_example(task, TASK_VALIDATION, 1).target);
    const struct row_order whole = {.task = task, .in_order = true};
    int64_t batches = 1, tokens = 0;
    for (int64_t i = 0; i < EXAMPLES; i++) {
        const int64_t count = task_example(task, TASK_TRAINING, i).target_count;
        batches += tokens + count > BUDGET;
        tokens = tokens + count > BUDGET ? count : tokens + count;
    }
    CHECK(batches > 3);
    CHECK_INT(batches_count(&whole, budget), batches);
    CHECK_INT(batches_count(&whole, (struct batch_size){.rows = 5, .tokens = 320}), 3);
}

struct trained {
    double loss[3];
    int64_t counted[3];
    float *values; /* the caller frees them */
};

static struct trained train_three(const struct run_config *config, int threads)
{
    struct backend backend;
    struct trainer trainer;
    struct trained trained = {.values = NULL};
    rotary_error error;
    if (!CHECK_INT(backend_create(&backend, threads, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK) ||
        !CHECK_INT(trainer_create(&trainer, config, NULL, &backend, &error), ROTARY_OK))
        exit(check_report());
    for (int64_t step = 1; step <= 3; step++) {
        struct trainer_step taken;
        CHECK_INT(trainer_step(&trainer, step, &taken, &error), ROTARY_OK);
        trained.loss[step - 1] = taken.loss.total;
        trained.counted[step - 1] = taken.loss.counted;
    }
    trained.values = parameter_copy(transformer_parameters(trainer.transformer), PARAMETER_VALUES);
    trainer_destroy(&trainer);
    backend_destroy(&backend);
    return trained;
}

/* The first step is that of a batch of so many examples. */
static void test_counted(const struct run_config *config, const struct task *task)
{
    struct run_config packed = *config, counted = *config;
    const struct row_order order = {.task = task, .seed = SEED};
    packed.model.dropout = counted.model.dropout = 0.0;
    packed.train.gradient_accumulation_steps = counted.train.gradient_accumulation_steps = 1;
    counted.train.batch_tokens = 0;
    counted.train.batch_size = rows_within(&order, budget, 0);
    struct trained a = train_three(&packed, 1), b = train_three(&counted, 1);
    CHECK(a.loss[0] == b.loss[0]);
    CHECK_INT(a.counted[0], b.counted[0]);
    CHECK(a.loss[0] / (double)a.counted[0] > 5.0);
    free(a.values);
    free(b.values);
}

static void test_threads(const struct run_config *config)
{
    struct trained one = train_three(config, 1), three = train_three(config, 3);
    CHECK(memcmp(one.loss, three.loss, sizeof one.loss) == 0);
    CHECK(memcmp(one.values, three.values, 1000 * sizeof(float)) == 0);
    free(one.values);
    free(three.values);
}

/* Filling a step and moving on allocates nothing. */
static void test_allocations(const struct task *task)
{
    const struct row_order order = {.task = task, .seed = SEED};
    struct row_cursor cursor = {0};
    const int64_t before = allocations_counted();
    row_cursor_move(&cursor, &order, budget, 1000);
    CHECK_INT(allocations_counted(), before);
    CHECK(before > 0);
    /* A run of a million examples finds its place when it is resumed. */
    const double begin = rotary_clock();
    row_cursor_move(&cursor, &order, budget, 300000);
    CHECK(cursor.ordinal > 900000);
    printf("%lld examples in %.3f s\n", (long long)cursor.ordinal, rotary_clock() - begin);
}

static void test_epochs(const struct run_config *config)
{
    struct run_config run = *config;
    struct task *task = task_of(config);
    const struct row_order whole = {.task = task, .in_order = true};
    const int64_t batches = batches_count(&whole, budget);
    run.train.epochs = 7;
    CHECK_INT(run_config_check(&run, NULL), ROTARY_OK);
    CHECK_INT(run.train.steps, (7 * batches + 1) / 2);
    run.train.seed = 8;
    CHECK_INT(run_config_check(&run, NULL), ROTARY_OK);
    CHECK_INT(run.train.steps, (7 * batches + 1) / 2);
    run.train.batch_tokens = 0; /* two rows, two micro-batches a step: seven batches an epoch */
    CHECK_INT(run_config_check(&run, NULL), ROTARY_OK);
    CHECK_INT(run.train.steps, 25);
    task_destroy(task);
    const char *folder = new_folder("epochs");
    train_to_end(&run, 1, folder);
    struct run_config read;
    CHECK_INT(run_read_config(folder, &read, NULL), ROTARY_OK);
    CHECK_INT(read.train.steps, 25);
    CHECK_INT(read.train.epochs, 7);
    run.train.epochs = 8; /* may change, as steps may */
    CHECK_INT(run_config_derive_steps(&run, folder, NULL), ROTARY_OK);
    CHECK_INT(run.train.steps, 28);
    train_to_end(&run, 1, folder);
}

static void check_refused(struct run_config config, const char *words)
{
    rotary_error error = {0};
    CHECK_INT(run_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
}

static void test_refused(const struct run_config *config)
{
    struct run_config run = *config;
    run.train.batch_tokens = 49; /* the longest line of training has 48 bytes */
    CHECK_INT(run_config_check(&run, NULL), ROTARY_OK);
    run.train.batch_tokens = 48;
    check_refused(
        run, "batch_tokens is 48|training example 12 has 0 tokens of source and 49 of target|at least 49");
    struct run_config endless;
    tiny_config(&endless);
    endless.train.epochs = 3;
    check_refused(endless, "epochs is 3|task index|wanted steps");
    endless.train.epochs = 0;
    endless.train.batch_tokens = 500;
    check_refused(endless, "batch_tokens is 500|task index|wanted batch_size");
}

/* Keys that are set, and do nothing beside others. */
static void check_use(const struct run_config *config, const char *key, const char *words)
{
    rotary_error error = {0};
    CHECK_INT(unused_keys_check(&(struct unused_keys_call){config, 1, NULL}, key, &error),
              words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK);
    if (words)
        CHECK_WORDS(error.message, words);
}

static void test_unused(const struct run_config *config)
{
    struct run_config run = *config;
    run.train.batch_size = 9;
    check_use(&run, "batch_size", "batch_size is 9|batch_tokens 140: wanted batch_tokens 0");
    run.train.batch_tokens = 0;
    check_use(&run, "batch_size", NULL);
    check_use(&run, "steps", NULL);
    run.train.epochs = 2;
    check_use(&run, "steps", "steps does nothing with epochs 2: wanted epochs 0");
    check_use(&run, "epochs", NULL);
    check_use(&run, "validation_sequences", "validation_sequences is 2|task lines");
    tiny_config(&run);
    check_use(&run, "validation_sequences", NULL);
}

int main(void)
{
    struct run_config config;
    packed_config(&config);
    struct task *task = task_of(&config);
    test_cut(task, budget);
    test_cut(task, (struct batch_size){.rows = 3, .tokens = 3 * TIME});
    test_splits(task);
    test_counted(&config, task);
    test_threads(&config);
    test_allocations(task);
    task_destroy(task);
    test_epochs(&config);
    test_refused(&config);
    test_unused(&config);
    return check_report();
}
