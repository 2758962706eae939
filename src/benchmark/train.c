/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/train.h"

#include "base/clock.h"
#include "base/fail.h"
#include "benchmark/operations.h"
#include "benchmark/timing.h"
#include "tensor/profile.h"
#include "train/learner.h"

#include <stdlib.h>

double benchmark_train_operations(const struct run_config *config)
{
    const struct decoder_config *model = &config->model;
    double time = (double)config->task.sequence_length,
           tokens = time * (double)(config->train.batch_size * config->train.accumulation);
    return tokens *
           (6.0 * operations_multiplied(model) + 3.5 * operations_attention(model, (time + 1.0) / 2.0));
}

static rotary_status time_steps(struct learner *learner, double begin, double *seconds,
                                struct train_benchmark *made, rotary_error *error)
{
    for (int64_t step = 0; step <= made->steps; step++) {
        double start = rotary_clock();
        struct learner_step taken;
        rotary_status status = learner_step(learner, step + 1, &taken, error);
        if (status != ROTARY_OK)
            return status;
        if (step > 0) {
            seconds[step - 1] = rotary_clock() - start;
            continue;
        }
        made->first = rotary_clock() - begin;
        if (learner->compute->profile)
            *learner->compute->profile = (struct profile){0};
    }
    made->step = timing_of(seconds, made->steps);
    return ROTARY_OK;
}

rotary_status benchmark_train(const struct run_config *config, const struct compute *compute, int64_t steps,
                              struct train_benchmark *benchmark, rotary_error *error)
{
    struct train_benchmark made = {.steps = steps,
                                   .tokens = (double)(config->task.sequence_length *
                                                      config->train.batch_size * config->train.accumulation),
                                   .operations = benchmark_train_operations(config)};
    double *seconds = steps > 0 ? calloc((size_t)steps, sizeof *seconds) : NULL;
    if (!seconds)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the times of %lld steps",
                           (long long)steps);
    double begin = rotary_clock();
    struct learner learner;
    rotary_status status = learner_create(&learner, config, compute, error);
    if (status == ROTARY_OK) {
        made.parameters = (double)parameters_total(decoder_parameters(learner.decoder));
        status = time_steps(&learner, begin, seconds, &made, error);
        learner_destroy(&learner);
    }
    if (status == ROTARY_OK)
        status = limits_measure(compute, &made.limits, error);
    free(seconds);
    if (status == ROTARY_OK)
        *benchmark = made;
    return status;
}
