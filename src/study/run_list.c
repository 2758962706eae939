/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_list.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rotary_status run_list_create(struct run_list *list, const char *folder, const struct arms *arms,
                              const struct run_config *configs, const int64_t *seeds, int seed_count,
                              rotary_error *error)
{
    *list = (struct run_list){.folder = folder};
    list->runs = calloc((size_t)seed_count * (size_t)arms->count + 1, sizeof *list->runs);
    if (!list->runs)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a list of runs");
    for (int i = 0; i < seed_count; i++)
        for (int arm = 0; arm < arms->count; arm++) {
            struct listed_run *run = &list->runs[list->count++];
            *run =
                (struct listed_run){.arm = arms->items[arm].name, .config = &configs[arm], .seed = seeds[i]};
            snprintf(run->name, sizeof run->name, "%s-%lld", run->arm, (long long)run->seed);
        }
    return ROTARY_OK;
}

void run_list_free(struct run_list *list)
{
    free(list->runs);
    *list = (struct run_list){0};
}

/* ---- runs that are there ---- */

static rotary_status check_run(const struct run_config *config, const char *folder, rotary_error *error)
{
    struct run_config recorded;
    rotary_status status = run_read_config(folder, &recorded, error);
    if (status == ROTARY_OK)
        status = run_config_check_same(config, &recorded, folder, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(config, &recorded, folder, error);
    if (status == ROTARY_OK && config->train.steps < recorded.train.steps)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has %lld steps, wanted at most %lld", folder,
                             (long long)recorded.train.steps, (long long)config->train.steps);
    if (status == ROTARY_OK && config->train.evaluate_every != recorded.train.evaluate_every)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "evaluate_every is %lld in %s and %lld now: runs that are compared are "
                             "evaluated at the same steps",
                             (long long)recorded.train.evaluate_every, folder,
                             (long long)config->train.evaluate_every);
    return status;
}

rotary_status run_list_check(const struct run_list *list, const struct backend *backend, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < list->count; i++) {
        char folder[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
        status = file_path(folder, list->folder, list->runs[i].name, error);
        if (status == ROTARY_OK)
            status = file_path(path, folder, FOLDER_CONFIG, error);
        bool found = false;
        if (status == ROTARY_OK)
            status = file_find(path, &found, error);
        if (!found)
            continue;
        struct run_config config = *list->runs[i].config;
        config.train.seed = list->runs[i].seed;
        if (config.train.precision == PRECISION_AUTO) /* as train() does */
            config.train.precision = backend->storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32;
        status = check_run(&config, folder, error);
    }
    return status;
}

/* ---- training ---- */

/* Adds a run's place in the list to its progress. */
struct forwarding {
    const struct run_list_call *call;
    struct run_progress progress;
};

static void forward_progress(void *argument, const struct train_progress *train)
{
    struct forwarding *forwarding = argument;
    forwarding->progress.train = train;
    forwarding->call->progress(forwarding->call->argument, &forwarding->progress);
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

static rotary_status train_one(const struct run_list_call *call, int index, rotary_error *error)
{
    const struct listed_run *listed = &call->list->runs[index];
    struct run_config config = *listed->config;
    config.train.seed = listed->seed;
    rotary_status status = run_config_check(&config, error);
    char folder[FILE_PATH_BYTES];
    if (status == ROTARY_OK)
        status = file_path(folder, call->list->folder, listed->name, error);
    if (status != ROTARY_OK)
        return status;

    struct forwarding forwarding = {
        .call = call,
        .progress = {
            .run = call->before + index + 1, .runs = call->total, .arm = listed->arm, .seed = listed->seed}};
    struct train_call run = {.config = &config,
                             .backend = call->backend,
                             .folder = folder,
                             .resume = true,
                             .progress = call->progress ? forward_progress : NULL,
                             .argument = &forwarding,
                             .interrupted = call->interrupted};
    struct train_result result;
    status = train(&run, &result, error);
    forwarding.progress.diverged = result.diverged;
    if (result.diverged)
        status = ROTARY_OK; /* metrics.jsonl records the divergence */
    bool reported = status != ROTARY_OK || (!result.diverged && result.first_step < config.train.steps);
    if (call->progress && !reported)
        forward_progress(&forwarding, NULL);
    return fail_in_run(&forwarding.progress, listed->name, status, error);
}

rotary_status run_list_train(const struct run_list_call *call, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < call->list->count; i++)
        status = train_one(call, i, error);
    return status;
}
