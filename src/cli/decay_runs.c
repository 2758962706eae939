/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/decay_runs.h"

#include "base/fail.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "file/print.h"
#include "model/encoding/model_encoding.h"
#include "report/decay_page.h"
#include "run_folder/folder.h"
#include "study/decay_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- folders ---- */

struct run_folders {
    char **items;
    int count;
};

static void free_folders(struct run_folders *folders)
{
    for (int i = 0; i < folders->count; i++)
        free(folders->items[i]);
    free(folders->items);
}

static rotary_status add_folder(struct run_folders *folders, const char *folder, rotary_error *error)
{
    char **items = realloc(folders->items, (size_t)(folders->count + 1) * sizeof *items);
    if (items)
        folders->items = items;
    char *copy = items ? strdup(folder) : NULL;
    if (!copy)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the names of folders");
    folders->items[folders->count++] = copy;
    return ROTARY_OK;
}

/* The first run of each arm, by seed. */
static rotary_status add_comparison(struct run_folders *folders, const char *folder, rotary_error *error)
{
    struct collection collection;
    rotary_status status = collection_read(&collection, &folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    const struct comparison *comparison = collection.comparison;
    const int before = folders->count;
    for (int i = 0; status == ROTARY_OK && i < comparison->arm_count; i++)
        if (comparison->arms[i].run_count > 0)
            status = add_folder(folders, comparison->records[comparison->arms[i].runs[0]].folder, error);
    if (status == ROTARY_OK && folders->count == before)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%s: no run of the comparison is finished, wanted at least one", folder);
    collection_free(&collection);
    return status;
}

static rotary_status find_folders(struct run_folders *folders, const struct operands *operands,
                                  rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < operands->count; i++)
        status = comparison_file_exists(operands->items[i])
                     ? add_comparison(folders, operands->items[i], error)
                     : add_folder(folders, operands->items[i], error);
    return status;
}

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

static rotary_status measure_model(const struct decay_runs_call *call, const struct loaded_model *model,
                                   const char *folder, struct measured_decay *decay, rotary_error *error)
{
    const struct option_integer *seed = &call->invocation->common.seed;
    struct bar bar = {.folder = folder};
    rotary_error inner = {0};
    decay->step = model->step;
    decay->seed = seed->given ? seed->value : model->config.train.seed;
    model_encoding_name(&model->config.model, decay->position);
    snprintf(decay->checkpoint, sizeof decay->checkpoint, "%s", checkpoint_names[call->checkpoint]);
    const struct decay_request request = {.task = model->task,
                                          .seed = (uint64_t)decay->seed,
                                          .sequences = call->sequences,
                                          .distance = call->distance,
                                          .progress = show_bar,
                                          .context = &bar};
    progress_start(&bar.progress);
    rotary_status status = decay_run(decay, model->transformer, &request, &inner);
    progress_end(&bar.progress);
    if (status != ROTARY_OK)
        return rotary_fail(error, status, "%s: %.400s", folder, inner.message);
    return measured_decay_write(decay, folder, error);
}

static rotary_status measure(const struct decay_runs_call *call, const char *folder,
                             struct measured_decay *decay, rotary_error *error)
{
    const struct loaded_model_call load = {.folder = folder,
                                           .need = TASK_HELD_OUT,
                                           .checkpoint = call->checkpoint,
                                           .backend = plan_model_backend(&call->invocation->common),
                                           .batch = 1};
    struct loaded_model model;
    rotary_status status = plan_open_model(&load, &model, error);
    if (status != ROTARY_OK)
        return status;
    status = measure_model(call, &model, folder, decay, error);
    loaded_model_close(&model);
    return status;
}

/* ---- results ---- */

static void print_head(const struct decay_kind *kind, const char *name, int64_t layer, int64_t head)
{
    for (int64_t i = 0; i < kind->distances; i++) {
        const int64_t pairs = kind->pairs[layer * kind->distances + i];
        if (pairs == 0)
            continue;
        printf("%s %lld %lld %lld %lld", name, (long long)layer + 1, (long long)head + 1,
               (long long)(kind->first + i), (long long)pairs);
        for (int measure = 0; measure < DECAY_MEASURES; measure++)
            printf(" %.7g", decay_means(kind, (enum decay_measure)measure, layer, head)[i]);
        putchar('\n');
    }
}

static void print_columns(const struct measured_decay *decay, const char *folder)
{
    printf("# %s: %s, step %lld, %lld validation sequences\n# attention layer head distance pairs", folder,
           decay->position, (long long)decay->step, (long long)decay->sequences);
    for (int measure = 0; measure < DECAY_MEASURES; measure++)
        printf(" %s", decay_measure_names[measure]);
    putchar('\n');
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        const struct decay_kind *of = &decay->kinds[kind];
        for (int64_t i = 0; i < of->layers * of->heads; i++)
            print_head(of, attention_kind_name((enum attention_kind)kind), i / of->heads, i % of->heads);
    }
}

static rotary_status print_run(const struct decay_runs_call *call, const struct measured_decay *decay,
                               const char *folder, json_t *runs, rotary_error *error)
{
    if (!call->invocation->common.json) {
        print_columns(decay, folder);
        return ROTARY_OK;
    }
    json_t *object = measured_decay_json(decay);
    if (!object || json_object_set_new(object, "folder", json_string(folder)) != 0 ||
        json_array_append_new(runs, object) != 0)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the JSON of %s", folder);
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
static rotary_status check_picture(const struct decay_runs_call *call, const struct run_folders *folders,
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
    struct run_folders folders = {0};
    json_t *runs = json_array();
    rotary_status status = find_folders(&folders, &call->invocation->operands, error);
    if (status == ROTARY_OK)
        status = check_picture(call, &folders, error);
    for (int i = 0; status == ROTARY_OK && i < folders.count; i++)
        status = show_run(call, folders.items[i], runs, error);
    if (status == ROTARY_OK && call->invocation->common.json)
        status = result_print_json(json_pack("{s:O}", "runs", runs), error);
    json_decref(runs);
    free_folders(&folders);
    return status;
}
