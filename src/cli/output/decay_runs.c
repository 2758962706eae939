/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/decay_runs.h"

#include "base/fail.h"
#include "cli/output/progress.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "file/print.h"
#include "report/decay_page.h"
#include "run_folder/folder.h"
#include "study/decay_folders.h"
#include "study/decay_run.h"

#include <stdio.h>

/* ---- measuring ---- */

/* What the bar says. */
struct bar {
    struct progress progress;
    const char *folder;
};

static void show_bar(void *context, int64_t done, int64_t sequences)
{
    struct bar *bar = context;
    progress_show(&bar->progress, "%s  sequence %lld of %lld", bar->folder, (long long)done + 1,
                  (long long)sequences);
}

static rotary_status measure(const struct decay_runs_call *call, const char *folder,
                             struct measured_decay *decay, rotary_error *error)
{
    const struct common_options *common = &call->invocation->common;
    const struct loaded_model_call load = {.folder = folder,
                                           .need = TASK_HELD_OUT,
                                           .checkpoint = call->checkpoint,
                                           .backend = plan_model_backend(common),
                                           .batch = 1,
                                           .length = call->length,
                                           .scaling = call->scaling};
    struct bar bar = {.folder = folder};
    struct loaded_model model;
    rotary_status status = plan_open_model(&load, &model, error);
    if (status != ROTARY_OK)
        return status;
    const struct decay_request request = {.model = &model,
                                          .folder = folder,
                                          .checkpoint = call->checkpoint,
                                          .seed = common->seed.given ? common->seed.value
                                                                     : model.config.train.seed,
                                          .sequences = call->sequences,
                                          .distance = call->distance,
                                          .length = call->length,
                                          .scaling = call->scaling,
                                          .progress = show_bar,
                                          .context = &bar};
    progress_start(&bar.progress);
    status = decay_run(decay, &request, error);
    progress_end(&bar.progress);
    loaded_model_close(&model);
    return status;
}

/* ---- results ---- */

static void print_head(const struct decay_kind *kind, const char *name, int64_t head, enum decay_axis by)
{
    const struct decay_points *points = &kind->axes[by];
    const int64_t layer = head / kind->heads;
    for (int64_t i = 0; i < points->count; i++) {
        const int64_t count = points->counts[layer * points->count + i];
        if (count == 0)
            continue;
        printf("%s %lld %lld %lld %lld", name, (long long)layer + 1, (long long)(head % kind->heads) + 1,
               (long long)(points->first + i), (long long)count);
        for (int measure = 0; measure < DECAY_MEASURES; measure++)
            if (decay_axis_of((enum decay_measure)measure) == by)
                printf(" %.7g", decay_means(kind, (enum decay_measure)measure, 0, head)[i]);
        putchar('\n');
    }
}

static void print_columns(const struct measured_decay *decay, const char *folder, enum decay_axis by)
{
    printf("# %s: %s, step %lld, %lld validation sequences", folder, decay->position, (long long)decay->step,
           (long long)decay->sequences);
    if (decay->length > 0)
        printf(" of %lld tokens, scaling %s", (long long)decay->length, decay->scaling);
    printf("\n# attention layer head %s %s", decay_axis_names[by], decay_counted[by]);
    for (int measure = 0; measure < DECAY_MEASURES; measure++)
        if (decay_axis_of((enum decay_measure)measure) == by)
            printf(" %s", decay_measure_names[measure]);
    putchar('\n');
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        const struct decay_kind *of = &decay->kinds[kind];
        for (int64_t head = 0; head < of->layers * of->heads; head++)
            print_head(of, attention_kind_name((enum attention_kind)kind), head, by);
    }
}

static rotary_status print_run(const struct decay_runs_call *call, const struct measured_decay *decay,
                               const char *folder, json_t *runs, rotary_error *error)
{
    if (!call->invocation->common.json) {
        print_columns(decay, folder, call->by);
        return ROTARY_OK;
    }
    json_t *object = measured_decay_json(decay);
    if (!object || json_object_set_new(object, "folder", json_string(folder)) != 0 ||
        json_array_append_new(runs, object) != 0)
        return rotary_fail_memory(error, "for the JSON of %s", folder);
    return ROTARY_OK;
}

static rotary_status write_picture(const struct decay_runs_call *call, const struct measured_decay *decay,
                                   rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    measured_decay_svg(print.stream, decay, call->measure);
    return print_replace(&print, call->picture, error);
}

static rotary_status show_run(const struct decay_runs_call *call, const char *folder, json_t *runs,
                              rotary_error *error)
{
    struct measured_decay decay = {.kinds = {{0}}};
    rotary_status status = measure(call, folder, &decay, error);
    if (status == ROTARY_OK && call->picture)
        status = write_picture(call, &decay, error);
    if (status == ROTARY_OK)
        status = print_run(call, &decay, folder, runs, error);
    measured_decay_free(&decay);
    return status;
}

/* A picture is of one run, and replaces none of a run's files. */
static rotary_status check_picture(const struct decay_runs_call *call, const struct decay_folders *folders,
                                   rotary_error *error)
{
    if (!call->picture)
        return ROTARY_OK;
    if (folders->count > 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--picture draws one run, got %d: rotary report draws those of a comparison",
                           folders->count);
    rotary_status status = folder_refuse_output(folders->items[0], call->picture, error);
    return status == ROTARY_OK ? folder_refuse_any(call->picture, error) : status;
}

rotary_status decay_runs(const struct decay_runs_call *call, rotary_error *error)
{
    const struct operands *operands = &call->invocation->operands;
    struct decay_folders folders;
    json_t *runs = json_array();
    rotary_status status = decay_folders_find(&folders, operands->items, operands->count, error);
    if (status == ROTARY_OK)
        status = check_picture(call, &folders, error);
    for (int i = 0; status == ROTARY_OK && i < folders.count; i++)
        status = show_run(call, folders.items[i], runs, error);
    if (status == ROTARY_OK && call->invocation->common.json)
        status = result_print_json(json_pack("{s:O}", "runs", runs), error);
    json_decref(runs);
    decay_folders_free(&folders);
    return status;
}
