/* SPDX-License-Identifier: Apache-2.0 */
#include "train/huggingface_run.h"

#include "file/file.h"
#include "huggingface/encoder_weights.h"
#include "train/folder.h"

/* Reads config.json; the caller owns *object. */
static rotary_status read_object(const char *folder, char path[FILE_PATH_BYTES], json_t **object,
                                 rotary_error *error)
{
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    return status == ROTARY_OK ? file_read_json(path, object, error) : status;
}

rotary_status huggingface_run_find(const char *folder, bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = read_object(folder, path, &object, error);
    if (status != ROTARY_OK)
        return status;
    *found = encoder_config_is(object);
    json_decref(object);
    return ROTARY_OK;
}

rotary_status huggingface_run_load(const char *folder, bool head_wanted, struct parameters *parameters,
                                   rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    struct encoder_config encoder;
    rotary_status status = read_object(folder, path, &object, error);
    if (status != ROTARY_OK)
        return status;
    status = encoder_config_read(&encoder, object, path, error);
    json_decref(object);
    const struct encoder_weights_call call = {
        .folder = folder, .config = &encoder, .head_wanted = head_wanted};
    return status == ROTARY_OK ? encoder_weights_load(parameters, &call, error) : status;
}
