/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/generation_ends.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdlib.h>

static const char key[] = "eos_token_id", generation_file[] = "generation_config.json",
                  model_file[] = "config.json";
enum { MAX_ENDS = 1 << 12 };

static rotary_status add(struct generation_ends *ends, const json_t *value, const char *path,
                         rotary_error *error)
{
    const json_int_t token = json_integer_value(value);
    if (!json_is_integer(value) || token > INT32_MAX)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: \"%s\" is no token: wanted a whole number, a list of some, or null", path,
                           key);
    if (token >= 0)
        ends->tokens[ends->count++] = (int32_t)token;
    return ROTARY_OK;
}

static rotary_status read_value(struct generation_ends *ends, const json_t *value, const char *path,
                                rotary_error *error)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (count > MAX_ENDS)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" has more than %d tokens", path, key,
                           (int)MAX_ENDS);
    ends->said = true;
    ends->tokens = calloc(count + 1, sizeof *ends->tokens);
    if (!ends->tokens)
        return rotary_fail_memory(error, "to read %s", path);
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; status == ROTARY_OK && i < count; i++)
        status = add(ends, json_is_array(value) ? json_array_get(value, i) : value, path, error);
    return status;
}

/* Reads one of the files, if the folder has it. */
static rotary_status read_file(struct generation_ends *ends, const char *folder, const char *name,
                               bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    rotary_status status = file_path(path, folder, name, error);
    if (status == ROTARY_OK)
        status = file_find(path, found, error);
    if (status != ROTARY_OK || !*found)
        return status;
    status = file_read_json(path, &object, error);
    const json_t *value = json_object_get(object, key);
    if (status == ROTARY_OK && value && !json_is_null(value))
        status = read_value(ends, value, path, error);
    json_decref(object);
    return status;
}

rotary_status generation_ends_read(struct generation_ends *ends, const char *folder, rotary_error *error)
{
    struct generation_ends read = {0};
    bool found = false, ignored;
    rotary_status status = read_file(&read, folder, generation_file, &found, error);
    read.none_said = found && !read.said;
    if (status == ROTARY_OK && !found)
        status = read_file(&read, folder, model_file, &ignored, error);
    if (status == ROTARY_OK)
        *ends = read;
    else
        generation_ends_free(&read);
    return status;
}

void generation_ends_free(struct generation_ends *ends)
{
    free(ends->tokens);
    *ends = (struct generation_ends){0};
}
