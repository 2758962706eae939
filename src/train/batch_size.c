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
    return (struct batch_size){.examples = train->batch_size,
                               .tokens = train->batch_size * run_example_tokens(config)};
}
