/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/huggingface_run.h"

#include "base/fail.h"
#include "base/integer.h"
#include "huggingface/decoder_config.h"
#include "huggingface/decoder_family.h"
#include "huggingface/decoder_weights.h"
#include "huggingface/encoder_weights.h"
#include "run_folder/folder.h"

#include <stdlib.h>
#include <string.h>

enum { DECODER_TOKENS = 1024 };

rotary_status huggingface_run_read(const char *folder, char path[FILE_PATH_BYTES], json_t **object,
                                   rotary_error *error)
{
    bool found;
    *object = NULL;
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    return status == ROTARY_OK && found ? file_read_json(path, object, error) : status;
}

bool huggingface_run_is(const json_t *object)
{
    return json_object_get(object, "model_type") != NULL;
}

rotary_status huggingface_run_find(const char *folder, bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = huggingface_run_read(folder, path, &object, error);
    *found = status == ROTARY_OK && huggingface_run_is(object);
    json_decref(object);
    return status;
}

/* ---- the configuration ---- */

/* A config.json, and what the weights beside it say of the output projection. */
static rotary_status read_encoder(struct encoder_config *encoder, const json_t *object, const char *path,
                                  rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    rotary_status status = encoder_config_read(encoder, object, path, error);
    if (status == ROTARY_OK)
        status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        encoder_weights_settle(folder, encoder);
    return status;
}

static rotary_status read_decoder(struct transformer_config *model, json_t **family, const json_t *object,
                                  const char *path, rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = decoder_config_read(object, path, model, family, error);
    if (status == ROTARY_OK)
        decoder_weights_settle(folder, *family, model);
    return status;
}

static rotary_status describe_encoder(struct huggingface_run *run, const json_t *object, const char *path,
                                      rotary_error *error)
{
    struct encoder_config encoder;
    rotary_status status = read_encoder(&encoder, object, path, error);
    if (status != ROTARY_OK)
        return status;
    transformer_config_default(&run->model);
    encoder_config_model(&encoder, &run->model);
    run->task = encoder.head == ENCODER_LABELS ? TASK_CLASSIFICATION : TASK_MASKED;
    run->sequence_length = encoder.max_position_embeddings;
    return ROTARY_OK;
}

/* Whether parameters of the rotation are those of all layers: no member is that of a layer type. */
static bool is_of_all_layers(const json_t *parameters)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)parameters, key, value) /* jansson's parameter is not const */
        if (json_is_object(value))
            return false;
    return json_object_size(parameters) > 0;
}

/* Moves a number of the object to a key of the model. */
static void take_number(json_t *parameters, const char *key, double *value)
{
    const json_t *number = json_object_get(parameters, key);
    if (json_is_number(number))
        *value = json_number_value(number);
    json_object_del(parameters, key);
}

/* Makes rope_parameters of all layers keys that can be set one by one: rope_theta, partial_rotary_factor,
 * rope_scaling. */
static void divide_parameters(struct transformer_config *model)
{
    if (!is_of_all_layers(model->rope_parameters))
        return;
    json_t *parameters = json_deep_copy(model->rope_parameters);
    take_number(parameters, "rope_theta", &model->rope_theta);
    take_number(parameters, "partial_rotary_factor", &model->partial_rotary_factor);
    const char *type = json_string_value(json_object_get(parameters, "rope_type"));
    const bool scales = type && strcmp(type, "default") != 0;
    json_decref(model->rope_scaling);
    model->rope_scaling = scales ? json_incref(parameters) : NULL;
    json_decref(parameters);
    json_decref(model->rope_parameters);
    model->rope_parameters = NULL;
}

/* Decoders have positions for more than one would train on at once. */
static rotary_status describe_decoder(struct huggingface_run *run, const json_t *object, const char *path,
                                      rotary_error *error)
{
    json_t *family = NULL;
    rotary_status status = read_decoder(&run->model, &family, object, path, error);
    json_decref(family);
    if (status == ROTARY_OK && run->model.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "%s: \"is_causal\" is false, and no task trains or scores such a model: wanted a "
                           "causal model, or rotary evaluate with --tokens and --logits",
                           path);
    run->task = TASK_LANGUAGE;
    run->sequence_length = min_i64(run->model.max_position_embeddings, DECODER_TOKENS);
    if (status == ROTARY_OK)
        divide_parameters(&run->model);
    return status;
}

static rotary_status check_type(const json_t *object, const char *path, rotary_error *error)
{
    const json_t *type = json_object_get(object, "model_type");
    const char *name = json_is_string(type) ? json_string_value(type) : "no text";
    char decoders[DECODER_FAMILY_NAMES_BYTES];
    if (decoder_config_is(object) || encoder_config_is(object))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: \"model_type\" is \"%.60s\", wanted bert or roformer, or that of a decoder: %s",
                       path, name, decoder_family_names(decoders));
}

rotary_status huggingface_run_describe(struct huggingface_run *run, const json_t *object, const char *path,
                                       rotary_error *error)
{
    struct huggingface_run made = {0};
    rotary_status status = check_type(object, path, error);
    if (status == ROTARY_OK)
        status = decoder_config_is(object) ? describe_decoder(&made, object, path, error)
                                           : describe_encoder(&made, object, path, error);
    if (status == ROTARY_OK)
        *run = made;
    else
        transformer_config_free(&made.model);
    return status;
}

/* ---- the weights ---- */

static rotary_status load_encoder(struct encoder_weights_call *call, const json_t *object, const char *path,
                                  struct parameters *parameters, rotary_error *error)
{
    struct encoder_config encoder;
    rotary_status status = read_encoder(&encoder, object, path, error);
    call->config = &encoder;
    return status == ROTARY_OK ? encoder_weights_load(parameters, call, error) : status;
}

static rotary_status load_decoder(const char *folder, const json_t *object, const char *path,
                                  struct parameters *parameters, rotary_error *error)
{
    struct transformer_config model = {0};
    json_t *family = NULL;
    rotary_status status = read_decoder(&model, &family, object, path, error);
    const struct decoder_weights_call call = {.folder = folder, .family = family, .model = &model};
    if (status == ROTARY_OK)
        status = decoder_weights_load(parameters, &call, error);
    json_decref(family);
    transformer_config_free(&model);
    return status;
}

rotary_status huggingface_run_load(const char *folder, const json_t *object, bool head_wanted,
                                   struct parameters *parameters, struct unused_tensors *unused,
                                   rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    struct encoder_weights_call encoder = {.folder = folder, .head_wanted = head_wanted, .unused = unused};
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status != ROTARY_OK)
        return status;
    return decoder_config_is(object) ? load_decoder(folder, object, path, parameters, error)
                                     : load_encoder(&encoder, object, path, parameters, error);
}
