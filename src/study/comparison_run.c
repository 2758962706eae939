/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_run.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/folder.h"

static rotary_status check_call(const struct compare_call *call, rotary_error *error)
{
    if (call->plan.arms->count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is nothing to compare: wanted an arm");
    if (call->plan.seed_count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there are no seeds: wanted one or more");
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, call->plan.folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK && file_exists(path))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%s holds a single run: wanted a comparison to resume, or another folder",
                             call->plan.folder);
    return status;
}

/* Writes compare.json if it changes, after the runs that are there were found to be those of the plan. */
static rotary_status begin(const struct compare_call *call, const struct comparison_plan *plan,
                           const struct run_list *list, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = run_list_check(list, call->backend, error);
    if (status == ROTARY_OK)
        status = file_path(path, call->plan.folder, "compare.json", error);
    if (status == ROTARY_OK && plan->changed)
        status = file_replace_json(path, plan->object, error);
    return status;
}

static rotary_status train_plan(const struct compare_call *call, const struct comparison_plan *plan,
                                rotary_error *error)
{
    struct run_list list;
    rotary_status status = run_list_create(&list, call->plan.folder, &plan->arms, plan->configs, plan->seeds,
                                           plan->seed_count, error);
    if (status != ROTARY_OK)
        return status;
    const struct run_list_call train = {.list = &list,
                                        .total = list.count,
                                        .backend = call->backend,
                                        .progress = call->progress,
                                        .argument = call->argument,
                                        .interrupted = call->interrupted};
    status = begin(call, plan, &list, error);
    if (status == ROTARY_OK)
        status = run_list_train(&train, error);
    run_list_free(&list);
    return status;
}

rotary_status compare(const struct compare_call *call, rotary_error *error)
{
    int lock = -1;
    struct comparison_plan plan = {0};
    rotary_status status = check_call(call, error);
    if (status == ROTARY_OK) /* before there is a folder */
        status = comparison_plan_create(&plan, &call->plan, error);
    comparison_plan_free(&plan);
    if (status == ROTARY_OK)
        status = file_make_folder(call->plan.folder, error);
    if (status == ROTARY_OK)
        status = folder_lock(call->plan.folder, &lock, error);
    if (status == ROTARY_OK) /* again, now that nobody else can write compare.json */
        status = comparison_plan_create(&plan, &call->plan, error);
    if (status == ROTARY_OK)
        status = train_plan(call, &plan, error);
    comparison_plan_free(&plan);
    folder_unlock(lock);
    return status;
}
