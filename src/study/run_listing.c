/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_listing.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "study/run_state.h"

/* The configuration that the run is to have in its folder; it borrows from the list. */
static struct run_config config_of(const struct run_list_call *call, const struct listed_run *run)
{
    struct run_config config = *run->config;
    config.train.seed = run->seed;
    config.train.precision = run_list_precision(&config, call->backend);
    return config;
}

/* ---- runs that have not begun ---- */

/* The task of an arm's runs, created for the first of them that has not begun: it may take seconds. */
static rotary_status need_task(struct task **task, const struct run_config *config, rotary_error *error)
{
    const struct task_request request = {.folder = run_vocabulary_folder(config, NULL)};
    return *task ? ROTARY_OK : task_create(task, &config->task, &request, error);
}

static rotary_status write_run(const char *folder, const struct run_config *config, struct task **task,
                               rotary_error *error)
{
    enum folder_state state;
    rotary_status status = folder_inspect(folder, &state, error); /* once more, with the lock */
    if (status != ROTARY_OK || state != FOLDER_EMPTY)
        return status;
    status = need_task(task, config, error);
    return status == ROTARY_OK
               ? run_write_config(folder, config, *task, &(struct run_record){.parameters = 0}, error)
               : status;
}

static rotary_status prepare(const struct run_list_call *call, const struct listed_run *run,
                             struct task **task, rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    enum folder_state state;
    int lock = -1;
    rotary_status status = file_path(folder, call->list->folder, run->name, error);
    if (status == ROTARY_OK)
        status = folder_inspect(folder, &state, error);
    if (status == ROTARY_OK && state == FOLDER_INCOMPLETE)
        status = folder_fail_incomplete(folder, error);
    if (status != ROTARY_OK || state != FOLDER_EMPTY)
        return status;
    struct run_config config = config_of(call, run);
    status = run_config_check_recorded(&config, NULL, error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    if (status == ROTARY_OK)
        status = folder_lock(folder, &lock, error);
    if (status == ROTARY_OK)
        status = write_run(folder, &config, task, error);
    folder_unlock(lock);
    return status;
}

static rotary_status prepare_all(const struct run_list_call *call, rotary_error *error)
{
    const struct run_list *list = call->list;
    rotary_status status = ROTARY_OK;
    for (int arm = 0; arm < list->arms && status == ROTARY_OK; arm++) {
        struct task *task = NULL;
        for (int i = arm; i < list->count && status == ROTARY_OK; i += list->arms)
            status = prepare(call, &list->runs[i], &task, error);
        task_destroy(task);
    }
    return status;
}

/* ---- what is left ---- */

/* The keys of `wanted` that have other values in the run's folder. */
static rotary_status find_changes(const struct run_list_call *call, const struct listed_run *run,
                                  const char *folder, json_t **changes, rotary_error *error)
{
    const struct run_config config = config_of(call, run);
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    json_t *wanted = NULL, *before = NULL;
    rotary_status status = run_read_config(folder, &recorded, error);
    if (status == ROTARY_OK)
        status = run_config_to_json(&recorded, &before, error);
    if (status == ROTARY_OK)
        status = run_config_to_json(&config, &wanted, error);
    const char *key;
    json_t *value;
    *changes = json_object();
    if (status == ROTARY_OK)
        json_object_foreach (wanted, key, value)
            if (!json_equal(value, json_object_get(before, key)))
                json_object_set(*changes, key, value);
    json_decref(wanted);
    json_decref(before);
    return status;
}

static rotary_status hand_out(const struct run_list_call *call, const struct listed_run *run, bool *left,
                              rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    json_t *changes = NULL;
    const int64_t steps = run_state_steps_left(call->list, run);
    if (steps < 0)
        return ROTARY_OK;
    *left = true;
    rotary_status status = file_path(folder, call->list->folder, run->name, error);
    if (status == ROTARY_OK)
        status = find_changes(call, run, folder, &changes, error);
    if (status == ROTARY_OK)
        call->left(call->argument,
                   &(struct run_left){.run = run, .steps = steps, .folder = folder, .changes = changes});
    json_decref(changes);
    return status;
}

static rotary_status hand_out_all(const struct run_list_call *call, rotary_error *error)
{
    bool left = false;
    rotary_status status = prepare_all(call, error);
    for (int i = 0; i < call->list->count && status == ROTARY_OK; i++)
        status = hand_out(call, &call->list->runs[i], &left, error);
    return status == ROTARY_OK && left
               ? rotary_fail(error, ROTARY_INTERRUPTED, "runs in %s are left to train", call->list->folder)
               : status;
}

rotary_status run_list_train_or_hand_out(const struct run_list_call *call, rotary_error *error)
{
    return call->left ? hand_out_all(call, error) : run_list_train(call, error);
}
