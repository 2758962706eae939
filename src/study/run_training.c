/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_training.h"

#include "base/fail.h"
#include "file/file.h"
#include "study/run_state.h"

#include <string.h>

/* Adds a run's place in the list to its progress. */
struct forwarding {
    struct run_training *training;
    struct run_progress progress;
};

static void forward_progress(void *argument, const struct train_progress *train)
{
    struct forwarding *forwarding = argument;
    struct run_training *training = forwarding->training;
    forwarding->progress.train = train;
    pthread_mutex_lock(&training->lock);
    forwarding->progress.done = training->call->before + training->done;
    training->call->progress(training->call->argument, &forwarding->progress);
    pthread_mutex_unlock(&training->lock);
}

/* Puts the run's name into the message of a failure that lacks it. */
static rotary_status fail_in_run(const struct run_progress *run, const char *name, rotary_status status,
                                 rotary_error *error)
{
    if (!error || status == ROTARY_OK)
        return status;
    if (status == ROTARY_INTERRUPTED)
        return rotary_fail(error, status, "interrupted in run %d of %d, %s; the same command resumes it",
                           run->run, run->runs, name);
    rotary_error inner = *error;
    if (!strstr(inner.message, name))
        rotary_fail(error, status, "%s: %.400s", name, inner.message);
    return status;
}

static void count_done(struct run_training *training)
{
    pthread_mutex_lock(&training->lock);
    training->done++;
    pthread_mutex_unlock(&training->lock);
}

rotary_status run_training_item(void *argument, const struct jobs_item *item, rotary_error *error)
{
    struct run_training *training = argument;
    const struct run_list_call *call = training->call;
    const struct listed_run *listed = &call->list->runs[item->index];
    struct run_config config = *listed->config;
    config.train.seed = listed->seed;
    rotary_status status = run_config_check_recorded(&config, NULL, error);
    char folder[FILE_PATH_BYTES];
    if (status == ROTARY_OK)
        status = file_path(folder, call->list->folder, listed->name, error);
    if (status != ROTARY_OK)
        return status;

    struct forwarding forwarding = {.training = training,
                                    .progress = {.run = call->before + item->index + 1,
                                                 .runs = call->total,
                                                 .arm = listed->arm,
                                                 .seed = listed->seed,
                                                 .job = item->job,
                                                 .jobs = training->jobs}};
    struct train_call run = {.config = &config,
                             .backend = &training->backends[item->job],
                             .folder = folder,
                             .resume = true,
                             .tensorboard = call->tensorboard,
                             .commit = call->commit,
                             .progress = call->progress ? forward_progress : NULL,
                             .argument = &forwarding,
                             .interrupted = item->stop};
    struct train_result result = {.first_step = config.train.steps};
    if (!run_state_has_records_alone(folder, config.train.steps))
        status = train_run(&run, &result, error);
    forwarding.progress.diverged = result.diverged;
    if (result.diverged)
        status = ROTARY_OK; /* metrics.jsonl records the divergence */
    if (status == ROTARY_OK)
        count_done(training);
    bool reported = status != ROTARY_OK || (!result.diverged && result.first_step < config.train.steps);
    if (call->progress && !reported)
        forward_progress(&forwarding, NULL);
    return fail_in_run(&forwarding.progress, listed->name, status, error);
}
