/* SPDX-License-Identifier: Apache-2.0 */
#include "train/initial_weights.h"

#include "base/fail.h"
#include "file/safetensors.h"
#include "layer/encoding.h"
#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/huggingface_run.h"

rotary_status initial_weights_model(struct run_config *config, rotary_error *error)
{
    struct run_config recorded;
    rotary_status status = run_read_config(config->train.init, &recorded, error);
    if (status != ROTARY_OK)
        return status;
    config->model = recorded.model;
    config->model.source_vocab_size = 0;
    if (config->model.architecture != ARCHITECTURE_ENCODER) /* whose vocabulary may be padded */
        config->model.vocab_size = 0;
    if (config->model.position != POSITION_LEARNED)
        config->model.max_position_embeddings = 0;
    return ROTARY_OK;
}

/* Copies what the file has; *copied: the number of parameters. */
static rotary_status copy_values(const struct safetensors *file, struct parameters *parameters, int *copied,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *copied = 0;
    for (int i = 0; i < parameters->count && status == ROTARY_OK; i++) {
        const float *values;
        if (!safetensors_find(file, parameters->rows[i].name))
            continue;
        status = checkpoint_values(file, &parameters->rows[i], &values, error);
        if (status == ROTARY_OK)
            status =
                parameters_write(parameters, parameter_range(parameters, PARAMETER_VALUES, i), values, error);
        ++*copied;
    }
    return status;
}

static rotary_status check_copied(const struct safetensors *file, const struct parameters *parameters,
                                  int copied, bool same_task, rotary_error *error)
{
    const int tensors = safetensors_count(file);
    if (same_task ? copied == parameters->count && copied == tensors : copied > 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s has %d tensors, of which %d are parameters of the model, which has %d: wanted %s",
                       safetensors_path(file), tensors, copied, parameters->count,
                       same_task ? "all, as both runs have the same task" : "at least one");
}

rotary_status initial_weights_load(const struct run_config *config, struct parameters *parameters,
                                   rotary_error *error)
{
    if (!config->train.init[0])
        return ROTARY_OK;
    struct run_config recorded;
    struct safetensors *file = NULL;
    int64_t step;
    int copied;
    bool transformers = false;
    rotary_status status = run_read_config(config->train.init, &recorded, error);
    if (status == ROTARY_OK)
        status = huggingface_run_find(config->train.init, &transformers, error);
    if (status != ROTARY_OK)
        return status;
    const bool same_task = recorded.task.task == config->task.task;
    if (transformers)
        return huggingface_run_load(config->train.init, same_task, parameters, error);
    const struct checkpoint_weights weights = {
        .folder = config->train.init, .name = FOLDER_MODEL, .kind = CHECKPOINT_LAST, .config = &recorded};
    status = checkpoint_open_weights(&weights, &file, &step, error);
    if (status != ROTARY_OK)
        return status;
    status = copy_values(file, parameters, &copied, error);
    if (status == ROTARY_OK)
        status = check_copied(file, parameters, copied, same_task, error);
    safetensors_close(file);
    return status;
}
