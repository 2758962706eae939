/* SPDX-License-Identifier: Apache-2.0 */
#include "train/batch_size.h"

#include "base/integer.h"

int64_t run_example_tokens(const struct run_config *config)
{
    return config->task.sequence_length * max_i64(task_choices(&config->task), 1);
}

struct batch_size run_batch_size(const struct run_config *config)
{
    const struct train_config *train = &config->train;
    if (train->batch_tokens > 0)
        return (struct batch_size){.tokens = train->batch_tokens};
    return (struct batch_size){.rows = train->batch_size,
                               .tokens = train->batch_size * run_example_tokens(config)};
}

struct row_order run_training_order(const struct run_config *config, const struct task *task)
{
    const struct train_config *train = &config->train;
    return (struct row_order){.task = task,
                              .seed = (uint64_t)train->seed,
                              .rows = train->batch_size * train->gradient_accumulation_steps};
}
