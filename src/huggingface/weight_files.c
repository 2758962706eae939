/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/weight_files.h"

#include "base/fail.h"
#include "huggingface/tensor_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char single[] = "model.safetensors", listing[] = "model.safetensors.index.json";
enum { INDEX_BYTES = 16 << 20 };

static rotary_status fail_absent(const char *folder, rotary_error *error)
{
    const char *wanted = "wanted the weights of a model";
    if (file_exists_in(folder, "pytorch_model.bin"))
        wanted = "pytorch_model.bin is Python's pickle, which is not read: wanted safetensors, as "
                 "from_pretrained and then save_pretrained of transformers write it";
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has no %s; %s", folder, single, wanted);
}

static rotary_status add_file(struct weight_files *weights, const char *folder, const char *name,
                              rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, name, error);
    if (status == ROTARY_OK)
        status = safetensors_open_any(&weights->files[weights->count], path, error);
    weights->count += status == ROTARY_OK;
    return status;
}

/* ---- the index ---- */

static int place_of(const struct weight_index *index, const char *name)
{
    for (int i = 0; i < index->count; i++)
        if (strcmp(index->names[i], name) == 0)
            return i;
    return -1;
}

/* A name without a folder: an index cannot name files elsewhere. */
static bool is_plain(const char *name)
{
    const size_t length = name ? strlen(name) : 0, end = strlen(".safetensors");
    return length > end && !strchr(name, '/') && strcmp(name + length - end, ".safetensors") == 0;
}

static rotary_status list_files(struct weight_index *index, const char *path, rotary_error *error)
{
    const char *tensor;
    json_t *value;
    json_object_foreach (index->map, tensor, value) {
        const char *name = json_string_value(value);
        if (!is_plain(name))
            return rotary_fail(
                error, ROTARY_BAD_FILE,
                "%s: the file of tensor %.128s is %.80s, wanted the name of a .safetensors file in "
                "the same folder",
                path, tensor, name ? name : "no text");
        if (place_of(index, name) >= 0)
            continue;
        if (index->count == WEIGHT_FILES_MAX)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s names more than %d files", path, WEIGHT_FILES_MAX);
        index->names[index->count++] = name;
    }
    return ROTARY_OK;
}

/* Every tensor of a file is the index's, and there. */
static rotary_status check_tensors(const struct weight_index *index, const struct weight_files *weights,
                                   const char *path, rotary_error *error)
{
    const char *tensor;
    json_t *value;
    size_t found = 0;
    for (int file = 0; file < weights->count; file++)
        for (int i = 0; i < safetensors_count(weights->files[file]); i++, found++) {
            const char *name = safetensors_at(weights->files[file], i)->name;
            const char *named = json_string_value(json_object_get(index->map, name));
            if (!named || strcmp(named, index->names[file]) != 0)
                return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %.128s is in %s, wanted it in %s",
                                   path, name, index->names[file], named ? named : "none of the files");
        }
    if (found == json_object_size(index->map))
        return ROTARY_OK;
    json_object_foreach (index->map, tensor, value)
        if (!weight_files_find(weights, tensor))
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: %s has no tensor %.128s, as is said", path,
                               json_string_value(value), tensor);
    return ROTARY_OK;
}

rotary_status weight_index_read(struct weight_index *index, const char *path, rotary_error *error)
{
    struct weight_index made = {0};
    rotary_status status = file_read_long_json(path, INDEX_BYTES, &made.object, error);
    if (status != ROTARY_OK)
        return status;
    made.map = json_object_get(made.object, "weight_map");
    if (json_object_size(made.map) == 0)
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s: wanted a \"weight_map\", an object with the file of each tensor", path);
    if (status == ROTARY_OK)
        status = list_files(&made, path, error);
    if (status == ROTARY_OK)
        *index = made;
    else
        json_decref(made.object);
    return status;
}

static rotary_status open_index(struct weight_files *weights, const char *folder, const char *path,
                                rotary_error *error)
{
    struct weight_index index;
    rotary_status status = weight_index_read(&index, path, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; status == ROTARY_OK && i < index.count; i++)
        status = add_file(weights, folder, index.names[i], error);
    if (status == ROTARY_OK)
        status = check_tensors(&index, weights, path, error);
    json_decref(index.object);
    return status;
}

/* ---- both ---- */

rotary_status weight_files_open(struct weight_files *weights, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES], index[FILE_PATH_BYTES];
    struct weight_files made = {.files = calloc(WEIGHT_FILES_MAX, sizeof *made.files)};
    if (!made.files)
        return rotary_fail_memory(error, "to list the weights of %s", folder);
    rotary_status status = file_path(path, folder, single, error);
    if (status == ROTARY_OK)
        status = file_path(index, folder, listing, error);
    if (status == ROTARY_OK && file_exists(path))
        status = add_file(&made, folder, single, error);
    else if (status == ROTARY_OK && file_exists(index))
        status = open_index(&made, folder, index, error);
    else if (status == ROTARY_OK)
        status = fail_absent(folder, error);
    if (status == ROTARY_OK)
        *weights = made;
    else
        weight_files_close(&made);
    return status;
}

void weight_files_close(struct weight_files *weights)
{
    for (int i = 0; i < weights->count; i++)
        safetensors_close(weights->files[i]);
    free(weights->files);
    *weights = (struct weight_files){0};
}

const struct safetensor *weight_files_find(const struct weight_files *weights, const char *name)
{
    const struct safetensor *found = NULL;
    for (int i = 0; i < weights->count && !found; i++)
        found = safetensors_find(weights->files[i], name);
    return found;
}

/* Whether a tensor that is not in the map may be there. */
static bool may_be_unused(const struct weight_files_call *call, const char *name)
{
    for (int i = 0; i < call->unused_count; i++)
        if (tensor_names_match(call->unused[i], name))
            return true;
    if (!call->heads || !tensor_names_match(call->heads, name))
        return false;
    if (call->found->count++ == 0)
        snprintf(call->found->first, sizeof call->found->first, "%s", name);
    return true;
}

/* `used`: whether each tensor, file by file, is in the map. */
static rotary_status check_used(const struct weight_files *weights, const struct weight_files_call *call,
                                const bool *used, rotary_error *error)
{
    for (int file = 0; file < weights->count; file++)
        for (int i = 0; i < safetensors_count(weights->files[file]); i++, used++) {
            const char *name = safetensors_at(weights->files[file], i)->name;
            if (!*used && !may_be_unused(call, name))
                return rotary_fail(error, ROTARY_BAD_FILE,
                                   "%s: tensor %.100s is no part of %s as its config.json has it",
                                   safetensors_path(weights->files[file]), name, call->model);
        }
    return ROTARY_OK;
}

rotary_status weight_files_load(const struct weight_files *weights, const struct weight_files_call *call,
                                struct parameters *parameters, rotary_error *error)
{
    size_t tensors = 1;
    for (int i = 0; i < weights->count; i++)
        tensors += (size_t)safetensors_count(weights->files[i]);
    bool *used = calloc(tensors, sizeof *used);
    if (!used)
        return rotary_fail_memory(error, "to list the tensors of %s", safetensors_path(weights->files[0]));
    const struct parameters_load_call load = {.files = (const struct safetensors *const *)weights->files,
                                              .file_count = weights->count,
                                              .map = call->map,
                                              .count = call->count,
                                              .mode = PARAMETERS_PART,
                                              .used = used};
    rotary_status status = parameters_load(parameters, &load, error);
    if (status == ROTARY_OK)
        status = check_used(weights, call, used, error);
    free(used);
    return status;
}
