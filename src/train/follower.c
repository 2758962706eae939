/* SPDX-License-Identifier: Apache-2.0 */
#include "train/follower.h"

#include "base/clock.h"
#include "base/fail.h"
#include "train/evaluation/run_evaluation.h"
#include "train/together.h"
#include "train/trainer.h"

#include <math.h>

rotary_status follower_begin(const struct ranks *ranks, struct follower_start *start, rotary_status status,
                             rotary_error *error)
{
    status = ranks_agree(ranks, status, error);
    return status == ROTARY_OK ? ranks_share(ranks, start, sizeof *start, error) : status;
}

/* The weights are those of rank 0 in any case; of an adaptation the checkpoint says which are trained. */
static rotary_status load(struct trainer *trainer, const struct follower_start *start, const char *folder,
                          rotary_error *error)
{
    struct checkpoint checkpoint;
    if (!start->saved)
        return trainer_begin(trainer, error);
    if (trainer->config->train.lora_rank == 0)
        return ROTARY_OK;
    rotary_status status = checkpoint_open(&checkpoint, folder, trainer->config, error);
    if (status == ROTARY_OK)
        status = trainer_resume(trainer, &checkpoint, error);
    checkpoint_close(&checkpoint);
    return status;
}

static rotary_status evaluate(const struct trainer *trainer, const struct train_call *call, bool last,
                              rotary_error *error)
{
    struct evaluation evaluation = {.sample_count = 0}; /* rank 0 has the results */
    const struct run_evaluation how = {.config = trainer->config,
                                       .ranks = call->ranks,
                                       .folder = call->folder,
                                       .interrupted = call->interrupted,
                                       .last = last && trainer->config->train.average_checkpoints == 0};
    return run_evaluation(&how, trainer->task, trainer->transformer, &evaluation, error);
}

/* Takes steps and shares of evaluations until rank 0 leaves. */
static rotary_status take_steps(struct trainer *trainer, const struct train_call *call,
                                struct train_result *result, rotary_error *error)
{
    const int64_t steps = trainer->config->train.steps;
    rotary_status status = ROTARY_OK;
    while (status == ROTARY_OK && !result->diverged) {
        struct trainer_step taken = {.evaluates = false};
        const bool ended = result->steps_done == steps;
        trainer->stops = call->interrupted && atomic_load(call->interrupted);
        status = ended ? trainer_wait(trainer, &taken.evaluates, error)
                       : trainer_step(trainer, result->steps_done + 1, &taken, error);
        if (status == ROTARY_INTERRUPTED && ended)
            return ROTARY_OK;
        if (status == ROTARY_OK && taken.evaluates)
            status = evaluate(trainer, call, ended, error);
        else if (status == ROTARY_OK && taken.diverged)
            result->diverged = result->steps_done + 1;
        else if (status == ROTARY_OK)
            result->steps_done++;
    }
    return status;
}

static rotary_status follow(struct trainer *trainer, const struct train_call *call,
                            const struct run_config *config, struct train_result *result, rotary_error *error)
{
    struct follower_start start = {.step = 0};
    rotary_status status = follower_begin(call->ranks, &start, ROTARY_OK, error);
    if (status != ROTARY_OK)
        return status;
    result->first_step = result->steps_done = start.step;
    if (start.finished)
        return ROTARY_OK;
    status = trainer_create_rank(trainer, config, start.resumes ? call->folder : NULL, call->backend,
                                 call->ranks, error);
    if (status == ROTARY_OK)
        status = load(trainer, &start, call->folder, error);
    status = trainer_meet(trainer, call->ranks, status, error);
    return status == ROTARY_OK ? take_steps(trainer, call, result, error) : status;
}

rotary_status follower_run(const struct train_call *call, const struct run_config *config,
                           struct train_result *result, rotary_error *error)
{
    const double begin = rotary_clock();
    struct trainer trainer = {.ranks = call->ranks};
    *result = (struct train_result){.loss = NAN};
    rotary_status status = follow(&trainer, call, config, result, error);
    trainer_leave(&trainer);
    trainer_destroy(&trainer);
    result->seconds = rotary_clock() - begin;
    return ranks_agree(call->ranks, status, error);
}
