/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/train_benchmark.h"

#include "backend/profile.h"
#include "base/clock.h"
#include "benchmark/operations.h"
#include "train/trainer.h"

/* A model in training, with its own profile. */
struct training {
    struct backend backend;
    struct trainer trainer;
    int64_t step; /* the last one done */
    /* Sums over all steps, whose batches may have different numbers of tokens. */
    double tokens, source_tokens, operations;
};

static void count_work(struct training *training)
{
    const struct run_config *config = training->trainer.config;
    for (int64_t i = 0; i < config->train.shards * config->train.gradient_accumulation_steps; i++) {
        const struct batch *batch = &training->trainer.data[training->step % 2].batches[i];
        training->tokens += (double)token_rows(&batch->input);
        training->source_tokens += (double)token_rows(&batch->source);
        training->operations += operations_training(&config->model, batch);
    }
}

static rotary_status take_step(void *argument, rotary_error *error)
{
    struct training *training = argument;
    struct trainer_step taken;
    rotary_status status = trainer_step(&training->trainer, ++training->step, &taken, error);
    if (status == ROTARY_OK)
        count_work(training);
    return status;
}

/* Creates the trainer and takes the first step, which touches all its memory, so that memory_check for the
 * next model sees what is left. */
static rotary_status start(struct training *training, struct train_benchmark_model *model,
                           const struct backend *backend, rotary_error *error)
{
    training->backend = *backend;
    training->backend.profile = model->profile;
    rotary_status status = trainer_create(&training->trainer, model->config, NULL, &training->backend, error);
    if (status == ROTARY_OK)
        status = trainer_begin(&training->trainer, error);
    if (status == ROTARY_OK)
        status = take_step(training, error);
    if (status != ROTARY_OK)
        return status;
    model->parameters = (double)parameters_total(transformer_parameters(training->trainer.transformer));
    if (model->profile)
        *model->profile = (struct profile){0};
    return ROTARY_OK;
}

rotary_status benchmark_train(struct train_benchmark *benchmark, const struct backend *backend,
                              rotary_error *error)
{
    struct training training[TIMING_MAX_ITEMS] = {{.step = 0}};
    struct timing_item items[TIMING_MAX_ITEMS] = {{.run = NULL}};
    double begin = rotary_clock();
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < benchmark->count && status == ROTARY_OK; i++) {
        items[i] = (struct timing_item){
            .run = take_step, .argument = &training[i], .baseline = i > 0 ? &items[0] : NULL};
        status = start(&training[i], &benchmark->models[i], backend, error);
        if (i == 0)
            benchmark->first_step_seconds = rotary_clock() - begin;
    }
    if (status == ROTARY_OK)
        status = timing_rounds(items, benchmark->count, benchmark->steps, error);
    for (int i = 0; i < benchmark->count; i++) {
        const double steps = (double)training[i].step;
        benchmark->models[i].tokens = training[i].tokens / steps;
        benchmark->models[i].source_tokens = training[i].source_tokens / steps;
        benchmark->models[i].operations = training[i].operations / steps;
        trainer_destroy(&training[i].trainer);
        benchmark->models[i].step = items[i].timing;
        benchmark->models[i].ratio = items[i].ratio;
    }
    return status == ROTARY_OK ? limits_measure(backend, &benchmark->limits, error) : status;
}
