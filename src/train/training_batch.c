/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training_batch.h"

#include "base/threads.h"

#include <string.h>

void batch_carve(struct training_batch *batch, struct rotary_arena *arena)
{
    batch->sequences = rotary_arena_push(arena, batch->rows * (batch->time + 1), sizeof(int32_t));
    batch->tokens = rotary_arena_push(arena, batch->rows * batch->time, sizeof(int32_t));
    batch->targets = rotary_arena_push(arena, batch->rows * batch->time, sizeof(int32_t));
}

struct fill_job {
    const struct training_batch *batch;
    uint64_t seed;
    uint32_t step;
    int64_t first_row;
};

static void fill_row(void *argument, int64_t row, int worker)
{
    (void)worker;
    const struct fill_job *job = argument;
    const struct training_batch *batch = job->batch;
    int32_t *sequence = batch->sequences + row * (batch->time + 1);
    task_sequence(batch->task, job->seed, job->step, job->first_row + row, sequence);
    size_t bytes = (size_t)batch->time * sizeof(int32_t);
    memcpy(batch->tokens + row * batch->time, sequence, bytes);
    memcpy(batch->targets + row * batch->time, sequence + 1, bytes);
}

void batch_fill(const struct training_batch *batch, int threads, uint64_t seed, uint32_t step,
                int64_t first_row)
{
    struct fill_job job = {batch, seed, step, first_row};
    rotary_parallel_for(threads, batch->rows, fill_row, &job);
}
