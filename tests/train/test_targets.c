/* SPDX-License-Identifier: Apache-2.0
 *
 * A task with ignored targets: the loss of a step and its gradients are means over the targets of the step,
 * however many of them each micro-batch has. A run of such a task resumes bit-exactly, wherever its lines of
 * metrics come.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/random.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8 };

/* Which targets count: from none to nearly all of a row, by the row; or none. */
static enum { SOME, NONE } counted;

/* The linker's --wrap redirects the library's calls to this. */
void __real_task_fill(const struct task *task, const struct task_place *place, const struct task_row *row);
void __wrap_task_fill(const struct task *task, const struct task_place *place, const struct task_row *row);

void __wrap_task_fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    __real_task_fill(task, place, row);
    int64_t time = task_shape(task).time;
    for (int64_t t = 0; t < time; t++)
        if (counted == NONE || t % ROWS >= (place->index + place->step) % ROWS)
            row->classes[t] = BATCH_IGNORED;
}

static struct backend backend;

static struct run_config config_of(int64_t batch_size)
{
    struct run_config config;
    tiny_config(&config);
    config.model.dropout = 0.0;
    config.train.batch_size = batch_size;
    config.train.gradient_accumulation_steps = ROWS / batch_size;
    config.train.max_grad_norm = 0.0;
    return config;
}

static struct trainer_step step_of(struct trainer *trainer, int64_t step)
{
    struct trainer_step result;
    rotary_error error = {0};
    if (!CHECK(trainer_step(trainer, step, &result, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    return result;
}

/* The same eight sequences in micro-batches of 1, 2, 4 and 8: the loss, its number of targets and the
 * gradients are the same up to rounding. After one step the first moment is the gradient times 1 - beta1. */
static void test_cuts(void)
{
    struct run_config whole = config_of(ROWS);
    struct trainer reference;
    CHECK(trainer_create(&reference, &whole, NULL, &backend, NULL) == ROTARY_OK);
    struct trainer_step wanted = step_of(&reference, 1);
    int64_t targets = 0;
    for (int64_t row = 0; row < ROWS; row++)
        targets += (row + 1) % ROWS * (whole.task.sequence_length / ROWS);
    CHECK_INT(wanted.loss.counted, targets);
    const struct parameters *parameters = transformer_parameters(reference.transformer);
    double max = 0;
    for (int64_t i = 0; i < parameters->elements; i++)
        max = fmax(max, fabs((double)parameters->moment1[i]));
    CHECK(max > 1e-3);
    for (int64_t batch_size = 1; batch_size < ROWS; batch_size *= 2) {
        check_about("micro-batches of %lld", (long long)batch_size);
        struct run_config config = config_of(batch_size);
        struct trainer trainer;
        CHECK(trainer_create(&trainer, &config, NULL, &backend, NULL) == ROTARY_OK);
        struct trainer_step got = step_of(&trainer, 1);
        CHECK_INT(got.loss.counted, targets);
        CHECK_NEAR(got.loss.total, wanted.loss.total, 1e-5 * wanted.loss.total);
        CHECK_NEAR(got.gradient_norm, wanted.gradient_norm, 1e-5 * wanted.gradient_norm);
        const float *moments = transformer_parameters(trainer.transformer)->moment1;
        for (int64_t i = 0; i < parameters->elements; i++)
            CHECK_NEAR((double)moments[i], (double)parameters->moment1[i], 1e-5 * max);
        trainer_destroy(&trainer);
    }
    check_about("%s", "");
    trainer_destroy(&reference);
}

/* The mean loss over the targets of steps from ... to, of a trainer of its own. */
static double mean_loss(const struct run_config *config, int64_t from, int64_t to)
{
    struct trainer trainer;
    CHECK(trainer_create(&trainer, config, NULL, &backend, NULL) == ROTARY_OK);
    double total = 0;
    int64_t targets = 0;
    for (int64_t step = 1; step <= to; step++) {
        struct trainer_step taken = step_of(&trainer, step);
        if (step < from)
            continue;
        total += taken.loss.total;
        targets += taken.loss.counted;
    }
    trainer_destroy(&trainer);
    return total / (double)targets;
}

static void stop_at_six(void *argument, const struct train_progress *progress)
{
    if (progress->step == 6)
        atomic_store((atomic_bool *)argument, true);
}

/* A line of metrics has the mean over its steps' targets. A run stopped between two lines, where the number
 * of targets says nothing about the number of steps, resumes bit-exactly. */
static void test_lines(void)
{
    struct run_config config = config_of(2);
    config.train.log_every = 4;
    config.train.checkpoint_every = 5;
    config.train.steps = 12;
    const char *reference = scratch_path("at once"), *folder = scratch_path("in parts");
    train_to_end(&config, 1, reference);
    char *lines = timeless_metrics(reference), wanted[64];
    snprintf(wanted, sizeof wanted, "{\"step\":8,\"loss\":%.9g,", mean_loss(&config, 5, 8));
    if (!CHECK(strstr(lines, wanted) != NULL))
        printf("wanted %s in\n%s", wanted, lines);
    atomic_bool interrupted = false;
    struct train_call call = {.config = &config,
                              .backend = &backend,
                              .folder = folder,
                              .progress = stop_at_six,
                              .argument = &interrupted,
                              .interrupted = &interrupted};
    struct train_result result;
    CHECK_INT(train_run(&call, &result, NULL), ROTARY_INTERRUPTED);
    CHECK_INT(result.steps_done, 6);
    train_to_end(&config, 1, folder);
    char *resumed = timeless_metrics(folder);
    CHECK_TEXT(resumed, lines);
    CHECK(same_file(folder, reference, "model.safetensors"));
    CHECK(same_file(folder, reference, "optimizer.safetensors"));
    free(resumed);
    free(lines);
}

static void test_none(void)
{
    struct run_config config = config_of(2);
    struct trainer trainer;
    struct trainer_step result;
    rotary_error error = {0};
    counted = NONE;
    CHECK(trainer_create(&trainer, &config, NULL, &backend, NULL) == ROTARY_OK);
    CHECK_INT(trainer_step(&trainer, 3, &result, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "the 8 sequences of step 3 have no targets: wanted at least one");
    trainer_destroy(&trainer);
    counted = SOME;
}

int main(void)
{
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    test_cuts();
    test_lines();
    test_none();
    backend_destroy(&backend);
    return check_report();
}
