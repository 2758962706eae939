/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of no steps: its folder has the initial weights and nothing else, and it resumes to more steps as if
 * it had never stopped, whatever the schedule. And what a checkpoint says of its run.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/safetensors.h"
#include "layer/encoding/encoding.h"
#include "train/trainer.h"

#include <rotary/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct safetensors *open_model(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct safetensors *file = NULL;
    rotary_error error = {0};
    if (!CHECK(safetensors_open(&file, path, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    return file;
}

/* The file has the values of a trainer that has taken no step, and the optimizer's moments are zero. */
static void check_initial(const char *folder, const struct run_config *config)
{
    struct backend backend;
    struct trainer trainer;
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    CHECK(trainer_create(&trainer, config, NULL, &backend, NULL) == ROTARY_OK);
    const struct parameters *parameters = transformer_parameters(trainer.transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    struct safetensors *model = open_model(folder, "model.safetensors"),
                       *optimizer = open_model(folder, "optimizer.safetensors");
    CHECK_INT(safetensors_count(model), parameters->count);
    CHECK_INT(safetensors_count(optimizer), 2 * parameters->count);
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        const struct safetensor *tensor = safetensors_find(model, row->name);
        size_t bytes = (size_t)parameter_elements(row) * sizeof(float);
        CHECK(tensor && memcmp(tensor->data, values + row->offset, bytes) == 0);
    }
    for (int i = 0; i < safetensors_count(optimizer); i++) {
        const struct safetensor *tensor = safetensors_at(optimizer, i);
        for (int64_t j = 0; j < safetensors_elements(tensor); j++)
            CHECK_INT(((const float *)tensor->data)[j] == 0.0f, 1);
    }
    free(values);
    safetensors_close(model);
    safetensors_close(optimizer);
    trainer_destroy(&trainer);
    backend_destroy(&backend);
}

static void test_resumed(int schedule)
{
    char name[64];
    struct run_config config;
    tiny_config(&config);
    config.train.schedule = schedule;
    config.train.minimum_learning_rate = schedule == SCHEDULE_COSINE ? 1e-4 : 0.0;
    check_about("schedule %s", schedule_names[schedule]);
    snprintf(name, sizeof name, "whole-%s", schedule_names[schedule]);
    const char *whole = new_folder(name);
    snprintf(name, sizeof name, "begun-%s", schedule_names[schedule]);
    const char *begun = new_folder(name);
    config.train.steps = 0;
    train_to_end(&config, 1, begun);
    check_initial(begun, &config);
    CHECK(!has_file(begun, "best.safetensors"));
    uint64_t before = hash_folder(begun);
    train_to_end(&config, 1, begun); /* nothing is left to do */
    CHECK(hash_folder(begun) == before);
    config.train.steps = 20;
    train_to_end(&config, 1, whole);
    train_to_end(&config, 1, begun);
    CHECK(hash_folder(begun) == hash_folder(whole));
    char *lines = timeless_metrics(begun), *wanted = timeless_metrics(whole);
    CHECK(strlen(wanted) > 100);
    CHECK_TEXT(lines, wanted);
    free(lines);
    free(wanted);
}

static void check_metadata(const struct safetensors *file, const char *key, const char *wanted)
{
    const char *text = safetensors_metadata(file, key);
    check_about("%s", key);
    CHECK_TEXT(text ? text : "nothing", wanted);
    check_about("%s", "");
}

/* The metadata of all three files are those of the run. */
static void test_metadata(void)
{
    static const char *const names[] = {"model.safetensors", "optimizer.safetensors", "best.safetensors"};
    struct run_config config;
    tiny_config(&config);
    config.model.position = POSITION_ROPER;
    config.train.seed = 5;
    config.train.steps = 7;
    config.train.log_every = 2;
    config.train.evaluate_every = 7;
    const char *folder = new_folder("described");
    train_to_end(&config, 1, folder);
    char program[64];
    snprintf(program, sizeof program, "rotary %s", rotary_version());
    json_t *settings;
    CHECK(run_config_to_json(&config, &settings, NULL) == ROTARY_OK);
    for (int i = 0; i < 3; i++) {
        struct safetensors *file = open_model(folder, names[i]);
        check_metadata(file, "program", program);
        check_metadata(file, "step", "7");
        check_metadata(file, "task", "index");
        check_metadata(file, "position", "roper");
        check_metadata(file, "seed", "5");
        check_metadata(file, "precision", "f32");
        const char *text = safetensors_metadata(file, "configuration");
        json_t *recorded = json_loads(text ? text : "", 0, NULL);
        CHECK(json_equal(recorded, settings));
        json_decref(recorded);
        safetensors_close(file);
    }
    json_decref(settings);
}

int main(void)
{
    for (int schedule = SCHEDULE_CONSTANT; schedule < SCHEDULES; schedule++)
        test_resumed(schedule);
    test_metadata();
    return check_report();
}
