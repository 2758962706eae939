/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a run whose length is given in epochs.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "train/batch_size.h"
#include "train/trainer.h"

static rotary_status fail_endless(const struct run_config *config, rotary_error *error)
{
    const struct train_config *train = &config->train;
    const char *task = task_names[config->task.task];
    if (train->epochs > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "epochs is %lld, but the task %s makes up its data without end: wanted steps",
                           (long long)train->epochs, task);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "batch_tokens is %lld, but the task %s has no corpus of examples: wanted batch_size",
                       (long long)train->batch_tokens, task);
}

/* Checks that every example of the training data fits into a micro-batch. */
static rotary_status check_budget(const struct run_config *config, const struct task *task,
                                  rotary_error *error)
{
    const int64_t tokens = config->train.batch_tokens;
    if (tokens == 0)
        return ROTARY_OK;
    const struct longest_example longest = examples_longest(task);
    if (longest.tokens <= tokens)
        return ROTARY_OK;
    const struct task_example example = task_example(task, TASK_TRAINING, longest.index);
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "batch_tokens is %lld, but training example %lld has %lld tokens of source and %lld of "
        "target: wanted at least %lld",
        (long long)tokens, (long long)longest.index + 1, (long long)example.source_count,
        (long long)example.target_count, (long long)longest.tokens);
}

rotary_status run_config_derive_steps(struct run_config *config, const char *folder, rotary_error *error)
{
    struct train_config *train = &config->train;
    if (train->epochs == 0 && train->batch_tokens == 0)
        return ROTARY_OK;
    if (!task_has_examples(&config->task))
        return fail_endless(config, error);
    struct task *task;
    const struct task_request request = {.folder = folder, .need = TASK_DATA};
    rotary_status status = task_create(&task, &config->task, &request, error);
    if (status != ROTARY_OK)
        return status;
    status = check_budget(config, task, error);
    const struct row_order order = {.task = task, .in_order = true};
    if (status == ROTARY_OK && train->epochs > 0)
        train->steps = divide_up(train->epochs * batches_count(&order, run_batch_size(config)),
                                 train->gradient_accumulation_steps);
    task_destroy(task);
    return status;
}
