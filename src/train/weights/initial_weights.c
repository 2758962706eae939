/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/initial_weights.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "file/safetensors.h"
#include "model/encoding/model_encoding.h"
#include "run_folder/folder.h"
#include "train/folder/checkpoint.h"
#include "train/weights/huggingface_run.h"

#include <stdlib.h>
#include <string.h>

/* Whether the model has learned a row for each position, and no more. */
static bool has_position_table(const struct transformer_config *model)
{
    return model_encoding(model)->embedding == EMBEDDING_POSITION_LEARNED;
}

rotary_status initial_weights_model(struct run_config *config, rotary_error *error)
{
    struct run_config recorded;
    rotary_status status = run_read_config(config->train.init, &recorded, error);
    if (status != ROTARY_OK)
        return status;
    struct transformer_config *model = &config->model;
    transformer_config_free(model);
    *model = recorded.model;
    model->source_vocab_size = 0;
    if (config->task.task != recorded.task.task) /* another task has a head of its own */
        model->num_labels = 0;
    if (!run_may_pad(config))
        model->vocab_size = 0;
    if (!has_position_table(model) && model->architecture != ARCHITECTURE_DECODER)
        model->max_position_embeddings = 0;
    if (model->rope_sequence_length == recorded.task.sequence_length)
        model->rope_sequence_length = 0;
    return ROTARY_OK;
}

/* What weights mean nothing without; position encodings without parameters, scalings of the rotation, dropout
 * and heads may be others. */
static const char *const fixed_keys[] = {
    "architecture",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_encoder_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "hidden_act",
    "pairing",
    "norm",
    "norm_position",
    "parallel_residual",
    "query_key_norm",
    "key_is_value",
    "attention_sinks",
    "norm_epsilon",
    "partial_rotary_factor",
    "layer_types",
    "sliding_window",
    "no_rope_layers",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "bias",
    "attention_bias",
    "attention_output_bias",
    "mlp_bias",
    "output_bias",
    "output_transform",
    "tie_word_embeddings",
    "scale_embedding",
    "type_vocab_size",
    "embedding_norm",
};

static rotary_status check_key(const struct run_config *config, const char *key, const json_t *taken,
                               const json_t *now, rotary_error *error)
{
    const json_t *was = json_object_get(taken, key), *is = json_object_get(now, key);
    /* The task's vocabulary, and types of the tokens of another task. */
    const bool open = (strcmp(key, "vocab_size") == 0 || strcmp(key, "type_vocab_size") == 0) &&
                      json_integer_value(was) == 0;
    if (open || json_equal(was, is))
        return ROTARY_OK;
    char *before = file_json_text(was, JSON_ENCODE_ANY), *after = file_json_text(is, JSON_ENCODE_ANY);
    rotary_status status =
        rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                    "%s is %.80s, and %.80s in %.200s, whose weights are taken: leave it out", key,
                    after ? after : "?", before ? before : "?", config->train.init);
    free(before);
    free(after);
    return status;
}

static rotary_status check_keys(const struct transformer_config *taken, const struct run_config *config,
                                rotary_error *error)
{
    struct run_config begun = *config;
    json_t *before = NULL, *now = NULL;
    begun.model = *taken;
    rotary_status status = run_config_to_json(&begun, &before, error);
    if (status == ROTARY_OK)
        status = run_config_to_json(config, &now, error);
    for (size_t i = 0; status == ROTARY_OK && i < sizeof fixed_keys / sizeof fixed_keys[0]; i++)
        status = check_key(config, fixed_keys[i], before, now, error);
    json_decref(before);
    json_decref(now);
    return status;
}

rotary_status initial_weights_fit(const struct transformer_config *taken, struct run_config *config,
                                  rotary_error *error)
{
    struct transformer_config *model = &config->model;
    const int64_t length = config->task.sequence_length;
    if (taken->architecture == ARCHITECTURE_DECODER && !has_position_table(model)) {
        if (model->max_position_embeddings == taken->max_position_embeddings)
            model->max_position_embeddings = max_i64(model->max_position_embeddings, length);
        if (model->rope_sequence_length == 0 && model->max_position_embeddings > length)
            model->rope_sequence_length = length;
    }
    return check_keys(taken, config, error);
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
                                   struct unused_tensors *unused, rotary_error *error)
{
    if (!config->train.init[0])
        return ROTARY_OK;
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    struct safetensors *file = NULL;
    int64_t step;
    int copied;
    json_t *transformers;
    rotary_status status = run_read_folder(config->train.init, &recorded, &transformers, error);
    if (status != ROTARY_OK)
        return status;
    const bool same_task = recorded.task.task == config->task.task;
    if (transformers) {
        status = huggingface_run_load(config->train.init, transformers, same_task, parameters, unused, error);
        json_decref(transformers);
        return status;
    }
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
