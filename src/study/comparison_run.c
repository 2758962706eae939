/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_run.h"

#include "base/fail.h"
#include "file/file.h"
#include "layer/encoding.h"
#include "study/collection.h"
#include "train/folder.h"

#include <stdio.h>
#include <string.h>

static rotary_status check_call(const struct compare_call *call, rotary_error *error)
{
    if (call->position_count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "no position encoding was given: wanted one or more");
    if (call->runs < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "runs is %d: wanted 1 or more", call->runs);
    for (int i = 0; i < call->position_count; i++) {
        if (call->positions[i] < 0 || call->positions[i] >= POSITIONS)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "position encoding %d does not exist: wanted 0 to %d", call->positions[i],
                               POSITIONS - 1);
        for (int j = 0; j < i; j++)
            if (call->positions[i] == call->positions[j])
                return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                   "%s is given twice: wanted each encoding once",
                                   position_names[call->positions[i]]);
        /* Every encoding, with the last seed, is checked before any is trained. */
        struct run_config config = *call->config;
        config.model.position = call->positions[i];
        config.train.seed += call->runs - 1;
        rotary_status status = run_config_check(&config, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}

/* Makes compare.json of this call. */
static rotary_status describe(const struct compare_call *call, json_t **description, rotary_error *error)
{
    json_t *config;
    rotary_status status = run_config_to_json(call->config, &config, error);
    if (status != ROTARY_OK)
        return status;
    json_object_del(config, "position"); /* differs between the runs */
    json_t *positions = json_array();
    for (int i = 0; i < call->position_count; i++)
        json_array_append_new(positions, json_string(position_names[call->positions[i]]));
    *description = json_pack("{s:i, s:o, s:i, s:s, s:o}", "format", (int)COMPARE_FORMAT, "positions",
                             positions, "runs", call->runs, "command", call->command, "config", config);
    return *description ? ROTARY_OK
                        : rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                                      "compare.json: no memory, or a command line that is not UTF-8");
}

/* Refuses a call that would train runs that do not compare with those in the folder. */
static rotary_status check_same(const struct compare_call *call, const char *path, const json_t *old,
                                rotary_error *error)
{
    struct run_config recorded;
    rotary_status status = file_check_format(path, old, COMPARE_FORMAT, error);
    if (status == ROTARY_OK)
        status = run_config_from_json(&recorded, json_object_get(old, "config"), path, error);
    if (status != ROTARY_OK)
        return status;
    recorded.model.position = call->config->model.position; /* compare.json has none */
    status = run_config_check_same(call->config, &recorded, path, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(call->config, &recorded, path, error);
    if (status == ROTARY_OK && call->config->train.steps < recorded.train.steps)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s compares runs of %lld steps, got %lld: wanted as many or more, or another folder", path,
            (long long)recorded.train.steps, (long long)call->config->train.steps);
    return status;
}

/* Locks the folder and writes compare.json, unless the folder may not be used for this call. */
static rotary_status open_folder(const struct compare_call *call, int *lock, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, call->folder, FOLDER_CONFIG, error);
    if (status != ROTARY_OK)
        return status;
    if (file_exists(path))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s holds a single run: wanted a comparison to resume, or another folder",
                           call->folder);
    status = file_path(path, call->folder, "compare.json", error);
    if (status != ROTARY_OK)
        return status;

    json_t *description = NULL, *old = NULL;
    status = file_make_folder(call->folder, error);
    if (status == ROTARY_OK)
        status = folder_lock(call->folder, lock, error);
    if (status == ROTARY_OK)
        status = describe(call, &description, error);
    if (status == ROTARY_OK && file_exists(path)) {
        status = file_read_json(path, &old, error);
        if (status == ROTARY_OK)
            status = check_same(call, path, old, error);
    }
    if (status == ROTARY_OK)
        status = file_replace_json(path, description, error);
    json_decref(old);
    json_decref(description);
    return status;
}

/* Adds a run's place in the comparison to its progress. */
struct forwarding {
    const struct compare_call *call;
    struct compare_progress progress;
};

static void forward_progress(void *argument, const struct train_progress *train)
{
    struct forwarding *forwarding = argument;
    forwarding->progress.train = train;
    forwarding->call->progress(forwarding->call->argument, &forwarding->progress);
}

/* Puts the run's name into the message of a failure that lacks it. */
static rotary_status fail_in_run(const struct compare_progress *run, const char *name, rotary_status status,
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

static rotary_status train_one(const struct compare_call *call, int index, rotary_error *error)
{
    struct run_config config = *call->config;
    config.model.position = call->positions[index % call->position_count];
    config.train.seed += index / call->position_count;
    rotary_status status = run_config_check(&config, error);
    if (status != ROTARY_OK)
        return status;

    const char *position = position_names[config.model.position];
    char name[64], folder[FILE_PATH_BYTES];
    snprintf(name, sizeof name, "%s-%lld", position, (long long)config.train.seed);
    status = file_path(folder, call->folder, name, error);
    if (status != ROTARY_OK)
        return status;

    struct forwarding forwarding = {.call = call,
                                    .progress = {.run = index + 1,
                                                 .runs = call->runs * call->position_count,
                                                 .position = position,
                                                 .seed = config.train.seed}};
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
    return fail_in_run(&forwarding.progress, name, status, error);
}

rotary_status compare(const struct compare_call *call, rotary_error *error)
{
    int lock = -1;
    rotary_status status = check_call(call, error);
    if (status == ROTARY_OK)
        status = open_folder(call, &lock, error);
    for (int i = 0; status == ROTARY_OK && i < call->runs * call->position_count; i++)
        status = train_one(call, i, error);
    folder_unlock(lock);
    return status;
}
