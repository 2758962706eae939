/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/length_evaluation.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/config_check.h"
#include "model/encoding/model_encoding.h"
#include "train/evaluation/evaluation.h"
#include "train/train.h"

const char *const length_scaling_names[] = {"none", "linear", "ntk",      "dynamic",
                                            "yarn", "llama3", "longrope", NULL};

static int64_t trained_length(const struct length_call *call)
{
    return call->trained > 0 ? call->trained : call->config->task.sequence_length;
}

double length_factor(const struct length_call *call)
{
    return (double)max_i64(call->length, trained_length(call)) / (double)trained_length(call);
}

static bool has_own_scaling(const struct transformer_config *model)
{
    return model->rope_scaling || model->rope_parameters;
}

/* The rope_scaling of a model that has none. */
static json_t *scaling_of(const struct length_call *call)
{
    json_t *scaling =
        json_pack("{s:s, s:f, s:I}", "rope_type", length_scaling_names[call->scaling], "factor",
                  length_factor(call), "original_max_position_embeddings", (json_int_t)trained_length(call));
    if (call->scaling == LENGTH_SCALING_LLAMA3) {
        json_object_set_new(scaling, "low_freq_factor", json_integer(1));
        json_object_set_new(scaling, "high_freq_factor", json_integer(4));
    } else if (call->scaling == LENGTH_SCALING_LONGROPE) {
        json_object_update(scaling,
                           (json_t *)(uintptr_t)call->factors); /* jansson's parameter is not const */
    }
    return scaling;
}

/* Tables by position are made as long as the sequences. A rotation that was scaled in training has no such
 * table, and depends on max_position_embeddings: it stays as it is. Randomised positions keep their number, on
 * which the rotation then depends. */
struct run_config length_config(const struct length_call *call)
{
    struct run_config config;
    run_config_copy(&config, call->config);
    struct transformer_config *model = &config.model;
    config.task.sequence_length = call->length;
    if (model->randomized_positions > 0 || !has_own_scaling(model))
        model->max_position_embeddings = max_i64(call->length, model->max_position_embeddings);
    if (call->scaling != LENGTH_SCALING_NONE && length_factor(call) > 1) {
        model->rope_scaling = scaling_of(call);
        model->max_position_embeddings = call->length; /* the length of dynamic NTK */
        model->rope_sequence_length = 0;
    }
    return config;
}

bool length_is_possible(const struct length_call *call)
{
    const struct transformer_config *model = &call->config->model;
    const struct position_encoding *encoding = model_encoding(model);
    const bool rotates = model_rotates(model) != 0, randomized = model->randomized_positions > 0;
    if (call->scaling != LENGTH_SCALING_NONE &&
        (!rotates || randomized || has_own_scaling(model) || model_encoding_has_frequencies(model)))
        return false;
    if (randomized)
        return call->length <= model->randomized_positions;
    if (encoding->embedding == EMBEDDING_POSITION_LEARNED && call->length > model->max_position_embeddings)
        return false;
    struct run_config config RUN_CONFIG_LOCAL = length_config(call);
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

/* LongRoPE has a factor for each pair of channels. */
static rotary_status check_factors(const struct length_call *call, rotary_error *error)
{
    if (!call->factors)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the scaling longrope without short_factor and long_factor, which are searched "
                           "for each model: wanted them");
    if (!(model_rotates(&call->config->model) & ROTATE_QUERY_KEY))
        return ROTARY_OK;
    struct run_config config RUN_CONFIG_LOCAL = length_config(call);
    return transformer_config_check(&config.model, error);
}

rotary_status length_check(const struct length_call *call, rotary_error *error)
{
    const struct run_config *config = call->config;
    const enum length_scaling scaling = call->scaling;
    const bool finite = task_has_examples(&config->task);
    if (finite && !task_cuts_text(&config->task))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the task %s has a corpus, whose sequences are as long as they are: wanted a task "
                           "that makes up its data",
                           task_names[config->task.task]);
    if (scaling != LENGTH_SCALING_NONE && has_own_scaling(&config->model))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT, "the scaling %s of a model that was trained with %s: wanted none",
            length_scaling_names[scaling], config->model.rope_scaling ? "rope_scaling" : "rope_parameters");
    rotary_status status = scaling == LENGTH_SCALING_LONGROPE ? check_factors(call, error) : ROTARY_OK;
    return finite || status != ROTARY_OK ? status : check_task(config, call->length, error);
}

rotary_status length_evaluate(const struct length_call *call, struct evaluation *evaluation,
                              rotary_error *error)
{
    rotary_status status = length_check(call, error);
    if (status != ROTARY_OK)
        return status;
    struct run_config config RUN_CONFIG_LOCAL = length_config(call);
    /* It has as many tokens at once as in training, or else one sequence. */
    const int64_t tokens = call->config->train.batch_size * call->config->task.sequence_length;
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
    trained_model_free(&model);
    return status;
}
