/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training_batch.h"

#include "base/threads.h"

struct task_place training_place(uint64_t seed, int64_t step)
{
    return (struct task_place){.seed = seed, .step = (uint32_t)step};
}

struct task_place validation_place(uint64_t seed, int64_t row)
{
    return (struct task_place){.split = TASK_VALIDATION, .seed = seed, .row = row};
}

struct fill_job {
    const struct task_batch *batch;
    const struct task_place *first;
};

static void fill_row(void *argument, int64_t row, int worker)
{
    (void)worker;
    const struct fill_job *job = argument;
    struct task_place place = *job->first;
    place.row += row;
    place.ordinal += row;
    task_batch_fill(job->batch, row, &place);
}

int64_t batch_fill(const struct task_batch *batch, int threads, const struct task_place *first)
{
    struct fill_job job = {batch, first};
    rotary_parallel_for(threads, batch->rows, fill_row, &job);
    int64_t targets = 0;
    for (int64_t i = 0; i < batch->rows * batch->shape.time; i++)
        targets += batch->classes[i] != BATCH_IGNORED;
    return targets;
}
