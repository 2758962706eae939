/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/comparison_file.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_ARMS = 100, MAX_FILE_SEEDS = 100000 };

bool comparison_file_exists(const char *folder)
{
    return file_exists_in(folder, "compare.json");
}

static rotary_status fail_key(const char *path, const char *key, const char *wanted, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\": wanted %s", path, key, wanted);
}

/* Whether the text is the name of a folder below another. */
static bool is_name(const char *text)
{
    return text && text[0] && text[0] != '.' && !strchr(text, '/') && strlen(text) < FILE_PATH_BYTES / 4;
}

static rotary_status read_arms(struct comparison_file *file, const char *path, rotary_error *error)
{
    const json_t *arms = json_object_get(file->object, "arms");
    size_t count = json_array_size(arms);
    if (count == 0 || count > MAX_FILE_ARMS)
        return fail_key(path, "arms", "a list of 1 to 100 arms", error);
    file->arms = calloc(count, sizeof *file->arms);
    if (!file->arms)
        return rotary_fail_memory(error, "for %s", path);
    for (size_t i = 0; i < count; i++) {
        const json_t *arm = json_array_get(arms, i);
        struct file_arm *read = &file->arms[file->arm_count++];
        *read = (struct file_arm){.name = json_string_value(json_object_get(arm, "name")),
                                  .set = json_object_get(arm, "set"),
                                  .chosen = json_object_get(arm, "chosen"),
                                  .derived = json_object_get(arm, "derived")};
        if (!is_name(read->name) || !json_is_object(read->set) ||
            (read->chosen && !json_is_object(read->chosen)) ||
            (read->derived && !json_is_object(read->derived)))
            return fail_key(path, "arms", "for each a name without / and an object \"set\"", error);
        for (size_t j = 0; j < i; j++)
            if (strcmp(file->arms[j].name, read->name) == 0)
                return fail_key(path, "arms", "names that differ", error);
    }
    return ROTARY_OK;
}

static rotary_status read_seeds(struct comparison_file *file, const char *path, rotary_error *error)
{
    static const char wanted[] = "a list of whole numbers from 0 on, each once";
    const json_t *seeds = json_object_get(file->object, "seeds");
    size_t count = json_array_size(seeds);
    if (count == 0 || count > MAX_FILE_SEEDS)
        return fail_key(path, "seeds", wanted, error);
    file->seeds = calloc(count, sizeof *file->seeds);
    if (!file->seeds)
        return rotary_fail_memory(error, "for %s", path);
    for (size_t i = 0; i < count; i++) {
        const json_t *seed = json_array_get(seeds, i);
        if (!json_is_integer(seed) || json_integer_value(seed) < 0)
            return fail_key(path, "seeds", wanted, error);
        file->seeds[file->seed_count++] = json_integer_value(seed);
        for (size_t j = 0; j < i; j++)
            if (file->seeds[j] == file->seeds[i])
                return fail_key(path, "seeds", wanted, error);
    }
    return ROTARY_OK;
}

static rotary_status read_varied(struct comparison_file *file, const char *path, rotary_error *error)
{
    const json_t *keys = json_object_get(file->object, "varied");
    size_t count = json_array_size(keys), bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += json_string_length(json_array_get(keys, i)) + 2;
    file->varied = calloc(bytes, 1);
    if (!file->varied)
        return rotary_fail_memory(error, "for %s", path);
    for (size_t i = 0; i < count; i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        if (!key)
            break;
        size_t length = strlen(file->varied);
        snprintf(file->varied + length, bytes - length, "%s%s", i ? ", " : "", key);
    }
    return file->varied[0] ? ROTARY_OK : fail_key(path, "varied", "a list of keys", error);
}

static rotary_status check_commands(const struct comparison_file *file, const char *path, rotary_error *error)
{
    const json_t *commands = json_object_get(file->object, "commands");
    size_t count = json_array_size(commands), texts = 0;
    for (size_t i = 0; i < count; i++)
        texts += json_is_string(json_object_get(json_array_get(commands, i), "command"));
    return count > 0 && texts == count
               ? ROTARY_OK
               : fail_key(path, "commands", "a list of objects, each with its \"command\"", error);
}

static rotary_status check_until(const struct comparison_file *file, const char *path, rotary_error *error)
{
    const json_t *until = json_object_get(file->object, "until"), *most = json_object_get(until, "max_seeds"),
                 *first = json_object_get(until, "first_seed");
    bool valid = json_is_integer(most) && json_integer_value(most) >= 1 &&
                 json_integer_value(most) <= MAX_FILE_SEEDS && json_is_integer(first) &&
                 json_integer_value(first) >= 0;
    return !until || valid ? ROTARY_OK
                           : fail_key(path, "until", "max_seeds (1 to 100000) and first_seed", error);
}

static rotary_status read_object(struct comparison_file *file, const char *path, rotary_error *error)
{
    rotary_status status = file_check_format(path, file->object, COMPARE_FORMAT, error);
    if (status == ROTARY_OK && !json_is_object(json_object_get(file->object, "config")))
        status = fail_key(path, "config", "an object", error);
    if (status == ROTARY_OK)
        status = check_commands(file, path, error);
    if (status == ROTARY_OK)
        status = check_until(file, path, error);
    if (status == ROTARY_OK)
        status = read_arms(file, path, error);
    if (status == ROTARY_OK)
        status = read_seeds(file, path, error);
    if (status == ROTARY_OK)
        status = read_varied(file, path, error);
    if (status == ROTARY_OK)
        file->steps = comparison_file_steps(file, 0);
    return status;
}

rotary_status comparison_file_read(struct comparison_file *file, const char *folder, rotary_error *error)
{
    *file = (struct comparison_file){0};
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, "compare.json", error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &file->object, error);
    if (status == ROTARY_OK)
        status = read_object(file, path, error);
    if (status != ROTARY_OK)
        comparison_file_free(file);
    return status;
}

void comparison_file_free(struct comparison_file *file)
{
    json_decref(file->object);
    free(file->arms);
    free(file->seeds);
    free(file->varied);
    *file = (struct comparison_file){0};
}

json_t *comparison_file_config(const struct comparison_file *file, int arm)
{
    const json_t *parts[] = {json_object_get(file->object, "config"), file->arms[arm].derived,
                             file->arms[arm].set, file->arms[arm].chosen};
    json_t *config = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i])
            json_object_update(config, (json_t *)(uintptr_t)parts[i]);
    return config;
}

int64_t comparison_file_steps(const struct comparison_file *file, int arm)
{
    json_t *config = arm < file->arm_count ? comparison_file_config(file, arm) : NULL;
    const int64_t steps = json_integer_value(json_object_get(config, "steps"));
    json_decref(config);
    return steps;
}
