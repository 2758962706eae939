/* SPDX-License-Identifier: Apache-2.0 */
#include "train/length_evaluation.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/config_check.h"
#include "model/model_encoding.h"
#include "train/evaluation.h"
#include "train/train.h"

#include <stdio.h>

const char *const length_scaling_names[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3", NULL};

static int64_t trained_length(const struct length_call *call)
{
    return call->config->task.sequence_length;
}

double length_factor(const struct length_call *call)
{
    return (double)max_i64(call->length, trained_length(call)) / (double)trained_length(call);
}

static bool has_own_scaling(const struct transformer_config *model)
{
    return model->rope_scaling[0] || model->rope_parameters[0];
}

/* Writes the model's rope_scaling. */
static void scale(const struct length_call *call, struct transformer_config *model)
{
    static const char *const more[LENGTH_SCALINGS] = {[LENGTH_SCALING_LLAMA3] =
                                                          ",\"low_freq_factor\":1,\"high_freq_factor\":4"};
    snprintf(model->rope_scaling, sizeof model->rope_scaling,
             "{\"rope_type\":\"%s\",\"factor\":%.17g,\"original_max_position_embeddings\":%lld%s}",
             length_scaling_names[call->scaling], length_factor(call), (long long)trained_length(call),
             more[call->scaling] ? more[call->scaling] : "");
}

/* The run's configuration for the length. Tables by position are made as long as the sequences. A rotation
 * that was scaled in training has no such table, and depends on max_position_embeddings: it stays as it is.
 * Randomised positions keep their number, on which the rotation then depends. */
static struct run_config config_at(const struct length_call *call)
{
    struct run_config config = *call->config;
    struct transformer_config *model = &config.model;
    config.task.sequence_length = call->length;
    if (model->randomized_positions > 0 || !has_own_scaling(model))
        model->max_position_embeddings = max_i64(call->length, model->max_position_embeddings);
    if (call->scaling != LENGTH_SCALING_NONE && length_factor(call) > 1) {
        scale(call, model);
        model->max_position_embeddings = call->length; /* the length of dynamic NTK */
    }
    return config;
}

bool length_is_possible(const struct length_call *call)
{
    const struct transformer_config *model = &call->config->model;
    const struct position_encoding encoding = model_encoding(model);
    const bool rotates = encoding.rotate_query_key || encoding.rotate_value,
               randomized = model->randomized_positions > 0;
    if (call->scaling != LENGTH_SCALING_NONE &&
        (!rotates || randomized || has_own_scaling(model) || model_encoding_has_frequencies(model)))
        return false;
    if (randomized)
        return call->length <= model->randomized_positions;
    if (encoding.embedding == EMBEDDING_POSITION_LEARNED && call->length > model->max_position_embeddings)
        return false;
    struct run_config config = config_at(call);
    return transformer_config_check(&config.model, NULL) != ROTARY_INVALID_ARGUMENT;
}

/* The task at another length. */
static rotary_status check_task(const struct run_config *config, int64_t length, rotary_error *error)
{
    struct task_config longer = config->task;
    struct task *task;
    longer.sequence_length = length;
    rotary_status status = task_create(&task, &longer, &(struct task_request){.need = TASK_SIZES}, error);
    if (status == ROTARY_OK)
        task_destroy(task);
    return status;
}

rotary_status length_check(const struct run_config *config, int64_t length, enum length_scaling scaling,
                           rotary_error *error)
{
    const bool finite = task_has_examples(&config->task);
    if (finite && !task_cuts_text(&config->task))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the task %s has a corpus, whose sequences are as long as they are: wanted a task "
                           "that makes up its data",
                           task_names[config->task.task]);
    if (scaling != LENGTH_SCALING_NONE && has_own_scaling(&config->model))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the scaling %s of a model that was trained with %s: wanted none",
                           length_scaling_names[scaling],
                           config->model.rope_scaling[0] ? "rope_scaling" : "rope_parameters");
    return finite ? ROTARY_OK : check_task(config, length, error);
}

rotary_status length_evaluate(const struct length_call *call, struct evaluation *evaluation,
                              rotary_error *error)
{
    rotary_status status = length_check(call->config, call->length, call->scaling, error);
    if (status != ROTARY_OK)
        return status;
    const struct run_config config = config_at(call);
    /* As many tokens at once as in training, or else one sequence. */
    const int64_t tokens = call->config->train.batch_size * trained_length(call);
    const struct train_load_call load = {
        .folder = call->folder,
        .need = TASK_HELD_OUT,
        .checkpoint = call->checkpoint,
        .backend = call->backend,
        .limits = {.batch = max_i64(tokens / call->length, 1),
                   .time = call->length,
                   .packed = task_has_examples(&config.task)},
        .other = &config,
    };
    struct trained_model model;
    status = train_load(&load, &model, error);
    if (status != ROTARY_OK)
        return status;
    struct evaluation_config how = *call->evaluation;
    how.last = true;
    status = evaluation_run(model.task, model.transformer, &how, evaluation, error);
    transformer_destroy(model.transformer);
    task_destroy(model.task);
    return status;
}
