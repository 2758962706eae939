/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a trained model for inference.
 */
#include "file/memory.h"
#include "train/folder/checkpoint.h"
#include "train/folder/corpus_record.h"
#include "train/train.h"
#include "train/weights/huggingface_run.h"

/* What the folder has. */
struct recorded {
    struct run_config config;
    json_t *transformers; /* config.json of a Hugging Face model; NULL: it is a run of this program */
};

/* A Hugging Face model has the last checkpoint alone, and nobody says after how many steps. */
static rotary_status load_weights(const struct train_load_call *call, const struct recorded *recorded,
                                  struct trained_model *model, rotary_error *error)
{
    struct parameters *parameters = transformer_parameters(model->transformer);
    model->step = 0;
    return recorded->transformers && call->checkpoint == CHECKPOINT_LAST
               ? huggingface_run_load(call->folder, recorded->transformers, true, parameters, &model->unused,
                                      error)
               : checkpoint_load_model(call->folder, call->checkpoint, &recorded->config, parameters,
                                       &model->step, error);
}

static rotary_status create_model(const struct train_load_call *call, const struct recorded *recorded,
                                  struct trained_model *model, rotary_error *error)
{
    const struct backend *backend = call->backend;
    const struct run_config *config = &model->config;
    struct transformer_limits limits = call->limits;
    size_t bytes;
    rotary_status status = transformer_bytes(backend, &config->model, limits, &bytes, error);
    if (status == ROTARY_OK)
        status = memory_check(bytes, "the model", error);
    if (status == ROTARY_OK)
        status = transformer_create(&model->transformer, backend, &config->model, limits,
                                    (uint64_t)config->train.seed, error);
    if (status != ROTARY_OK)
        return status;
    return load_weights(call, recorded, model, error);
}

static rotary_status load(const struct train_load_call *call, const struct recorded *recorded,
                          struct trained_model *model, rotary_error *error)
{
    struct trained_model loaded = {0};
    run_config_copy(&loaded.config, call->other ? call->other : &recorded->config);
    rotary_status status = ROTARY_OK;
    if (recorded->transformers) /* whose scalings by length are for what is read */
        loaded.config.model.rope_sequence_length = loaded.config.task.sequence_length;
    if (call->need <= TASK_HELD_OUT)
        status = corpus_check_config(&loaded.config.task,
                                     call->need == TASK_DATA ? TASK_TRAINING : TASK_VALIDATION, call->folder,
                                     error);
    if (status == ROTARY_OK)
        status = task_create(&loaded.task, &loaded.config.task,
                             &(struct task_request){.folder = call->folder, .own = true, .need = call->need},
                             error);
    if (status == ROTARY_OK)
        status = create_model(call, recorded, &loaded, error);
    if (status == ROTARY_OK)
        *model = loaded;
    else
        trained_model_free(&loaded);
    return status;
}

rotary_status train_load(const struct train_load_call *call, struct trained_model *model, rotary_error *error)
{
    struct recorded recorded = {0};
    rotary_status status = run_read_folder(call->folder, &recorded.config, &recorded.transformers, error);
    if (status != ROTARY_OK)
        return status;
    status = load(call, &recorded, model, error);
    json_decref(recorded.transformers);
    run_config_free(&recorded.config);
    return status;
}

void trained_model_free(struct trained_model *model)
{
    transformer_destroy(model->transformer);
    task_destroy(model->task);
    run_config_free(&model->config);
}
