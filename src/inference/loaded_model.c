/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/loaded_model.h"

#include "base/fail.h"
#include "model/config_check.h"
#include "train/trainer.h"
#include "train/unused_keys.h"

#include <stdio.h>
#include <string.h>

static struct transformer_limits limits_of(const struct loaded_model_call *call,
                                           const struct run_config *config)
{
    struct transformer_limits limits = trainer_limits(config);
    limits.batch = call->batch > 0 ? call->batch : limits.batch;
    limits.time = call->time > 0 ? call->time : limits.time;
    return limits;
}

static rotary_status create_backend(const struct loaded_model_call *call, struct loaded_model *model,
                                    rotary_error *error)
{
    const struct loaded_model_backend *how = &call->backend;
    const enum precision trained = (enum precision)model->config.train.precision;
    const struct device_request request = {.device = how->device,
                                           .threads = how->threads,
                                           .isa = how->isa,
                                           .precision = how->precision_given ? how->precision : trained};
    return device_backend_create(&model->backend, &request, error);
}

/* Names a key of the run that is none of the task's. */
static rotary_status check_assigned(const struct loaded_model_call *call, const struct settings *settings,
                                    const char *assignment, rotary_error *error)
{
    char key[SETTING_TEXT_BYTES];
    void *member;
    settings_assigned_key(key, assignment);
    if (settings_find(settings, TASK_SETTINGS, key, strlen(key), &member) ||
        !settings_find(settings, RUN_SETTINGS, key, strlen(key), &member))
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "--set: \"%s\" is a key of the model or of its training, and is that of %.300s: wanted "
        "keys of the task alone, such as sequence_length",
        key, call->folder);
}

/* Sets keys of the task, each of which must change something. */
static rotary_status assign_data(const struct loaded_model_call *call, struct run_config *config,
                                 rotary_error *error)
{
    struct settings settings[RUN_SETTINGS];
    rotary_status status = ROTARY_OK;
    run_settings(config, settings);
    for (int i = 0; i < call->assignment_count && status == ROTARY_OK; i++) {
        status = check_assigned(call, settings, call->assignments[i], error);
        if (status == ROTARY_OK)
            status = settings_assign(settings, TASK_SETTINGS, call->assignments[i], error);
    }
    if (status == ROTARY_OK)
        status = run_config_check_recorded(config, call->folder, error);
    const struct unused_keys_call used = {.configs = config, .count = 1, .folder = call->folder};
    return status == ROTARY_OK
               ? unused_keys_check_assigned(&used, call->assignments, call->assignment_count, error)
               : status;
}

/* Says why the model cannot compute sequences of the length. */
static rotary_status fail_length(const struct length_call *at, struct run_config *longer, rotary_error *error)
{
    rotary_error reason = {0};
    if (transformer_config_check(&longer->model, &reason) == ROTARY_OK)
        snprintf(reason.message, sizeof reason.message,
                 "it has a table of positions, or no rotation to scale");
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "the model cannot compute sequences of %lld tokens with the scaling %s: %.400s",
                       (long long)at->length, length_scaling_names[at->scaling], reason.message);
}

/* Makes the run's configuration that of another length. */
static rotary_status set_length(const struct loaded_model_call *call, struct run_config *config,
                                rotary_error *error)
{
    rotary_error inner = {0};
    const struct length_call at = {.config = config, .length = call->length, .scaling = call->scaling};
    struct run_config longer = length_config(&at);
    rotary_status status = length_check(&at, &inner);
    if (status == ROTARY_OK && !length_is_possible(&at))
        status = fail_length(&at, &longer, &inner);
    if (status != ROTARY_OK) {
        run_config_free(&longer);
        return rotary_fail(error, status, "%.300s: %.600s", call->folder, inner.message);
    }
    run_config_free(config);
    *config = longer;
    return ROTARY_OK;
}

/* The configuration is read. */
static rotary_status load_weights(const struct loaded_model_call *call, bool pretrained,
                                  struct loaded_model *model, rotary_error *error)
{
    const bool changed = call->assignment_count > 0 || call->length > 0;
    rotary_status status = ROTARY_OK;
    model->trained =
        pretrained ? model->config.model.max_position_embeddings : model->config.task.sequence_length;
    if (call->assignment_count > 0)
        status = assign_data(call, &model->config, error);
    if (status == ROTARY_OK && call->length > 0)
        status = set_length(call, &model->config, error);
    if (status != ROTARY_OK)
        return status;
    status = create_backend(call, model, error);
    if (status != ROTARY_OK)
        return status;
    const struct train_load_call load = {.folder = call->folder,
                                         .need = call->need,
                                         .checkpoint = call->checkpoint,
                                         .backend = &model->backend,
                                         .limits = limits_of(call, &model->config),
                                         .other = changed ? &model->config : NULL};
    struct trained_model trained;
    status = train_load(&load, &trained, error);
    if (status != ROTARY_OK) {
        backend_destroy(&model->backend);
        return status;
    }
    run_config_free(&model->config);
    model->config = trained.config;
    model->transformer = trained.transformer;
    model->task = trained.task;
    model->tokenizer = task_tokenizer(trained.task);
    model->begin = task_begin(trained.task);
    model->step = trained.step;
    model->pretrained = (struct pretrained){0};
    model->unused = trained.unused;
    return ROTARY_OK;
}

static rotary_status load_run(const struct loaded_model_call *call, bool pretrained,
                              struct loaded_model *model, rotary_error *error)
{
    rotary_status status = run_read_config(call->folder, &model->config, error);
    if (status != ROTARY_OK)
        return status;
    status = load_weights(call, pretrained, model, error);
    if (status != ROTARY_OK)
        run_config_free(&model->config);
    return status;
}

static rotary_status load_pretrained(const struct loaded_model_call *call, struct loaded_model *model,
                                     rotary_error *error)
{
    enum { USUAL_ROWS = 512 }; /* of a call: a prompt is read in pieces of so many tokens */
    run_config_default(&model->config);
    rotary_status status = create_backend(call, model, error);
    if (status != ROTARY_OK)
        return status;
    const struct pretrained_call pretrained = {.folder = call->folder,
                                               .backend = &model->backend,
                                               .batch = call->batch > 0 ? call->batch : 1,
                                               .time = call->time > 0 ? call->time : USUAL_ROWS,
                                               .tokens = call->tokens,
                                               .copies = call->reads_parameters};
    status = pretrained_load(&pretrained, &model->pretrained, error);
    if (status != ROTARY_OK) {
        backend_destroy(&model->backend);
        return status;
    }
    transformer_config_copy(&model->config.model, &model->pretrained.model);
    model->transformer = model->pretrained.transformer;
    model->tokenizer = model->pretrained.tokenizer;
    model->begin = model->pretrained.begin;
    model->task = NULL;
    model->step = 0;
    model->trained = model->config.model.max_position_embeddings;
    model->unused = (struct unused_tensors){.count = 0};
    return ROTARY_OK;
}

rotary_status loaded_model_open(const struct loaded_model_call *call, struct loaded_model *model,
                                rotary_error *error)
{
    bool pretrained;
    rotary_status status = pretrained_find(call->folder, &pretrained, error);
    if (status != ROTARY_OK)
        return status;
    return pretrained && call->takes_pretrained ? load_pretrained(call, model, error)
                                                : load_run(call, pretrained, model, error);
}

rotary_status loaded_model_positions(const char *folder, int64_t *positions, rotary_error *error)
{
    bool pretrained;
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_status status = pretrained_find(folder, &pretrained, error);
    if (status == ROTARY_OK && pretrained)
        return pretrained_positions(folder, positions, error);
    if (status == ROTARY_OK)
        status = run_read_config(folder, &config, error);
    if (status == ROTARY_OK)
        *positions = config.model.max_position_embeddings;
    return status;
}

void loaded_model_close(struct loaded_model *model)
{
    if (model->pretrained.transformer) {
        pretrained_free(&model->pretrained);
    } else {
        transformer_destroy(model->transformer);
        task_destroy(model->task);
    }
    run_config_free(&model->config);
    backend_destroy(&model->backend);
}
