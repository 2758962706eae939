/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/checkpoint_metadata.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "train/folder/run_files.h"

#include <rotary/version.h>
#include <stdio.h>
#include <stdlib.h>

/* Sets a key of the metadata to a setting, which is text or a whole number. */
static void copy_setting(json_t *metadata, const char *key, const json_t *settings)
{
    const json_t *value = json_object_get(settings, key);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    const char *name = file_json_name(value), *text = name ? name : number;
    json_object_set_new(metadata, key, json_string(text));
}

/* Names the files of the folder in the metadata. */
static rotary_status describe_files(json_t *metadata, const char *folder, rotary_error *error)
{
    json_t *files;
    rotary_status status = run_files_read(folder, &files, error);
    if (status != ROTARY_OK)
        return status;
    char *text = file_json_text(files, JSON_COMPACT);
    json_object_set_new(metadata, RUN_FILES, json_string(text));
    free(text);
    json_decref(files);
    return ROTARY_OK;
}

rotary_status checkpoint_describe(json_t **metadata, const char *folder, const struct run_config *config,
                                  int64_t step_done, rotary_error *error)
{
    static const char *const first[] = {"task", "position", "seed", "precision"};
    json_t *settings;
    rotary_status status = run_config_to_json(config, &settings, error);
    if (status != ROTARY_OK)
        return status;
    char *text = file_json_text(settings, JSON_COMPACT);
    char format[32], step[32], program[64];
    snprintf(format, sizeof format, "%d", RUN_FORMAT);
    snprintf(step, sizeof step, "%lld", (long long)step_done);
    snprintf(program, sizeof program, "rotary %s", rotary_version());
    json_t *made = json_pack("{s:s, s:s, s:s, s:s}", "format", format, "program", program, "step", step,
                             "configuration", text);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        copy_setting(made, first[i], settings);
    free(text);
    json_decref(settings);
    status = describe_files(made, folder, error);
    if (status == ROTARY_OK)
        *metadata = made;
    else
        json_decref(made);
    return status;
}

rotary_status checkpoint_fail_metadata(const char *path, const char *key, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no valid \"%s\" in its metadata: it is not a checkpoint", path, key);
}

/* Checks that the folder has the files that the checkpoint names. */
static rotary_status check_files(const struct safetensors *file, const char *path, rotary_error *error)
{
    const char *text = safetensors_metadata(file, RUN_FILES);
    json_t *files = text ? json_loads(text, 0, NULL) : NULL;
    if (!files)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s does not name the files of its run (\"" RUN_FILES
                           "\" in its metadata): an earlier version of this program wrote it; train again",
                           path);
    char folder[FILE_PATH_BYTES];
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = run_files_check(folder, files, path, error);
    json_decref(files);
    return status;
}

rotary_status checkpoint_check_run(const struct safetensors *file, const char *path,
                                   const struct run_config *config, rotary_error *error)
{
    const char *text = safetensors_metadata(file, "configuration");
    json_t *object = text ? json_loads(text, 0, NULL) : NULL;
    if (!object)
        return checkpoint_fail_metadata(path, "configuration", error);
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    rotary_status status = run_config_from_json(&recorded, object, path, error);
    json_decref(object);
    if (status == ROTARY_OK)
        status = run_config_check_same(config, &recorded, path, error);
    if (status == ROTARY_INVALID_ARGUMENT && error)
        error->status = ROTARY_BAD_FILE;
    if (status == ROTARY_INVALID_ARGUMENT)
        status = ROTARY_BAD_FILE;
    return status == ROTARY_OK ? check_files(file, path, error) : status;
}
