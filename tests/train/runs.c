/* SPDX-License-Identifier: Apache-2.0 */
#include "train/runs.h"

#include "base/random.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "support/check.h"
#include "support/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024 };

void set_option(struct run_config *config, const char *assignment)
{
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    CHECK(settings_assign(settings, RUN_SETTINGS, assignment, NULL) == ROTARY_OK);
}

void tiny_model(struct run_config *config, int64_t layers)
{
    config->model.hidden_size = 16;
    config->model.num_hidden_layers = layers;
    config->model.num_attention_heads = 2;
    config->model.intermediate_size = 32;
}

void tiny_config(struct run_config *config)
{
    run_config_default(config);
    config->task.task = TASK_INDEX;
    config->task.sequence_length = 48;
    config->task.problems = 4;
    set_option(config, "index_letters=5");
    tiny_model(config, 1);
    config->model.dropout = 0.1;
    config->train.steps = 60;
    config->train.batch_size = 2;
    config->train.gradient_accumulation_steps = 2;
    config->train.learning_rate = 1e-3;
    config->train.warmup_steps = 5;
    config->train.log_every = 3;
    config->train.evaluate_every = 20;
    config->train.checkpoint_every = 5;
    config->train.validation_sequences = 2;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK(run_config_check(config, &error) == ROTARY_OK))
        printf("%s\n", error.message);
}

void write_config(const char *folder, const struct run_config *config)
{
    struct task *task;
    rotary_error error = {0};
    if (!CHECK(task_create(&task, &config->task, NULL, &error) == ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    if (!CHECK(run_write_config(folder, config, task, &(struct run_record){0}, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    task_destroy(task);
}

bool has_bf16(void)
{
    struct backend backend;
    if (backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_BF16, NULL) != ROTARY_OK)
        return false;
    backend_destroy(&backend);
    return true;
}

void train_to_end(const struct run_config *config, int threads, const char *folder)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK(backend_create(&backend, threads, ROTARY_ISA_AUTO, (enum precision)config->train.precision, NULL) ==
          ROTARY_OK);
    struct train_call call = {.config = config, .backend = &backend, .folder = folder, .resume = true};
    struct train_result result;
    if (!CHECK(train_run(&call, &result, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_INT(result.steps_done, config->train.steps);
    backend_destroy(&backend);
}

const char *new_folder(const char *name)
{
    const char *folder = scratch_path(name);
    CHECK(mkdir(folder, 0777) == 0);
    return folder;
}

static void join(char path[PATH_BYTES], const char *folder, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

char *read_file(const char *folder, const char *name, size_t *count)
{
    char path[PATH_BYTES];
    join(path, folder, name);
    FILE *file = fopen(path, "rb");
    *count = 0;
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    if (!bytes)
        abort();
    *count = fread(bytes, 1, (size_t)size, file);
    bytes[*count] = 0;
    fclose(file);
    return bytes;
}

void write_file(const char *folder, const char *name, const void *bytes, size_t count)
{
    char path[PATH_BYTES];
    join(path, folder, name);
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL))
        return;
    CHECK(fwrite(bytes, 1, count, file) == count);
    fclose(file);
}

void copy_file(const char *from_folder, const char *from, const char *to_folder, const char *to)
{
    size_t count;
    char *bytes = read_file(from_folder, from, &count);
    if (CHECK(bytes != NULL))
        write_file(to_folder, to, bytes, count);
    free(bytes);
}

bool same_file(const char *folder, const char *other_folder, const char *name)
{
    size_t count, other_count;
    char *bytes = read_file(folder, name, &count), *other = read_file(other_folder, name, &other_count);
    bool same = bytes && other && count == other_count && memcmp(bytes, other, count) == 0;
    free(bytes);
    free(other);
    return same;
}

static json_t *read_config(const char *folder)
{
    char path[PATH_BYTES];
    json_t *object = NULL;
    join(path, folder, "config.json");
    CHECK(file_read_json(path, &object, NULL) == ROTARY_OK);
    json_object_del(object, "provenance");
    json_object_del(object, JSON_CHECKSUM);
    return object;
}

bool same_config(const char *folder, const char *other_folder)
{
    json_t *config = read_config(folder), *other = read_config(other_folder);
    const bool same = config && json_equal(config, other);
    json_decref(config);
    json_decref(other);
    return same;
}

bool has_file(const char *folder, const char *name)
{
    size_t count;
    char *bytes = read_file(folder, name, &count);
    free(bytes);
    return bytes != NULL;
}

uint64_t hash_folder(const char *folder)
{
    uint64_t hash = 0;
    DIR *entries = opendir(folder);
    if (!CHECK(entries != NULL))
        return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        size_t count;
        char *bytes = entry->d_type == DT_REG ? read_file(folder, entry->d_name, &count) : NULL;
        /* A sum, so that the order of entries does not matter. */
        if (bytes && strcmp(entry->d_name, "metrics.jsonl") != 0)
            hash += rotary_hash(bytes, count) * (2 * rotary_hash(entry->d_name, strlen(entry->d_name)) + 1);
        free(bytes);
    }
    closedir(entries);
    return hash;
}

char *timeless_metrics(const char *folder)
{
    size_t count, used = 0;
    char *text = read_file(folder, "metrics.jsonl", &count);
    char *lines = calloc(count + 1, 1);
    if (!lines)
        abort();
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        json_t *object = json_loads(line, 0, NULL);
        CHECK(object != NULL);
        json_object_del(object, "tokens_per_second");
        json_object_del(object, "checksum"); /* of the times too */
        json_object_del(json_object_get(object, "evaluation"), "seconds");
        char *timeless = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
        if (timeless)
            used += (size_t)sprintf(lines + used, "%s\n", timeless);
        free(timeless);
        json_decref(object);
    }
    free(text);
    return lines;
}
