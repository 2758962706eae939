/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "tensor/profile.h"
#include "train/memory.h"

#include <math.h>

static void plan_updates(struct learner *learner)
{
    const struct train_config *train = &learner->config->train;
    learner->schedule = (struct schedule){
        .kind = (enum schedule_kind)train->schedule,
        .rate = train->learning_rate,
        .minimum = train->minimum_learning_rate,
        .warmup = train->warmup_steps,
        .steps = train->steps,
        .width = learner->config->model.hidden_size,
    };
    learner->optimizer = (struct optimizer){
        .kind = (enum optimizer_kind)train->optimizer,
        .beta1 = train->beta1,
        .beta2 = train->beta2,
        .epsilon = train->epsilon,
        .weight_decay = train->weight_decay,
        .clip = train->clip,
    };
}

static rotary_status create_model(struct learner *learner, rotary_error *error)
{
    const struct run_config *config = learner->config;
    struct decoder_limits limits = {config->train.batch_size, config->task.sequence_length, .training = true};
    rotary_status status = task_create(&learner->task, &config->task, error);
    if (status != ROTARY_OK)
        return status;
    learner->batch = (struct batch){.task = learner->task, .rows = limits.batch, .time = limits.time};
    batch_carve(&learner->batch, &learner->arena);
    size_t bytes;
    status = decoder_bytes(learner->compute, &config->model, limits, &bytes, error);
    if (status == ROTARY_OK)
        status = memory_check(__builtin_add_overflow(bytes, learner->arena.used, &bytes) ? SIZE_MAX : bytes,
                              "training", error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&learner->arena, "a batch", error);
    if (status != ROTARY_OK)
        return status;
    batch_carve(&learner->batch, &learner->arena);
    return decoder_create(&learner->decoder, learner->compute, &config->model, limits,
                          (uint64_t)config->train.seed, error);
}

rotary_status learner_create(struct learner *learner, const struct run_config *config,
                             const struct compute *compute, rotary_error *error)
{
    *learner = (struct learner){.config = config, .compute = compute};
    plan_updates(learner);
    rotary_status status = create_model(learner, error);
    if (status != ROTARY_OK)
        learner_destroy(learner);
    return status;
}

void learner_destroy(struct learner *learner)
{
    decoder_destroy(learner->decoder);
    task_destroy(learner->task);
    rotary_arena_free(&learner->arena);
    *learner = (struct learner){0};
}

static rotary_status run_batches(struct learner *learner, int64_t step, struct loss_sums *sum,
                                 rotary_error *error)
{
    const struct train_config *train = &learner->config->train;
    const struct batch *batch = &learner->batch;
    double targets = (double)train->accumulation * (double)batch->rows * (double)batch->time;
    *sum = (struct loss_sums){0};
    for (int64_t micro = 0; micro < train->accumulation; micro++) {
        double begin = profile_begin(learner->compute->profile);
        batch_fill(batch, learner->compute->threads, (uint64_t)train->seed, (uint32_t)step,
                   micro * batch->rows);
        profile_end(learner->compute->profile, begin, "data", "made", 0.0, 0.0);
        struct decoder_batch run = {
            .batch = batch->rows,
            .time = batch->time,
            .tokens = batch->tokens,
            .targets = batch->targets,
            .backward = true,
            .gradient_scale = (float)(1.0 / targets),
            .seed = (uint64_t)train->seed,
            .micro_step = (uint32_t)((step - 1) * train->accumulation + micro),
        };
        struct loss_sums loss;
        rotary_status status = decoder_run(learner->decoder, &run, &loss, error);
        if (status != ROTARY_OK)
            return status;
        sum->total += loss.total;
        sum->counted += loss.counted;
        sum->correct += loss.correct;
    }
    return ROTARY_OK;
}

rotary_status learner_step(struct learner *learner, int64_t step, struct learner_step *result,
                           rotary_error *error)
{
    *result = (struct learner_step){.learning_rate = schedule_rate(&learner->schedule, step)};
    rotary_status status = run_batches(learner, step, &result->loss, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(learner->compute->profile);
    result->diverged =
        !isfinite(result->loss.total) ||
        !optimizer_step(&learner->optimizer, learner->compute, decoder_parameters(learner->decoder), step,
                        result->learning_rate, &result->gradient_norm);
    /* The norm reads the gradients; the update reads and writes values, gradients and two moments. */
    profile_end(learner->compute->profile, begin, "update", "norm of the gradient, Adam", 0.0,
                9.0 * sizeof(float) * (double)decoder_parameters(learner->decoder)->elements);
    if (result->diverged)
        return ROTARY_OK;
    begin = profile_begin(learner->compute->profile);
    status = decoder_prepare(learner->decoder, error);
    profile_end(learner->compute->profile, begin, "update", "weights laid out for the products", 0.0, 0.0);
    return status;
}
