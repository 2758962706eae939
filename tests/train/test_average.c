/* SPDX-License-Identifier: Apache-2.0
 *
 * Averaged checkpoints: the mean is that of the weights of the right steps, it is evaluated at the end, the
 * run itself stays as it is, and a run that is continued for more steps averages what it would have averaged.
 * (test_kill.c kills runs while they average.)
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AVERAGED = 3, EVERY = 10, STEPS = 45 }; /* steps 20, 30 and 40 */

static struct run_config config;
static struct backend backend;

static const char *trained(const char *name, int64_t steps, int64_t averaged)
{
    static char folder[512];
    struct run_config run = config;
    snprintf(folder, sizeof folder, "%s", scratch_path(name));
    run.train.steps = steps;
    run.train.average_checkpoints = averaged;
    train_to_end(&run, 1, folder);
    return folder;
}

static struct safetensors *open_file(const char *folder, const char *name)
{
    char path[600];
    struct safetensors *file = NULL;
    rotary_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!CHECK(safetensors_open(&file, path, &error) == ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
    return file;
}

static const float *tensor(const struct safetensors *file, const char *name)
{
    return safetensors_find(file, name)->data;
}

/* Compares average.safetensors with the mean of the models of runs that end at the steps averaged. */
static void test_mean(void)
{
    struct safetensors *average = open_file(trained("averaged", STEPS, AVERAGED), "average.safetensors"),
                       *models[AVERAGED];
    for (int i = 0; i < AVERAGED; i++) {
        char name[32];
        snprintf(name, sizeof name, "until%d", (i + 2) * EVERY);
        models[i] = open_file(trained(name, (i + 2) * EVERY, 0), "model.safetensors");
    }
    int64_t compared = 0, other = 0;
    for (int i = 0; i < safetensors_count(average); i++) {
        const struct safetensor *mean = safetensors_at(average, i);
        for (int64_t j = 0; j < safetensors_elements(mean); j++, compared++) {
            double sum = 0.0;
            for (int model = 0; model < AVERAGED; model++)
                sum += (double)tensor(models[model], mean->name)[j];
            const float wanted = (float)(sum / AVERAGED);
            if (!CHECK(((const float *)mean->data)[j] == wanted))
                return;
            other += wanted != tensor(models[AVERAGED - 1], mean->name)[j];
        }
    }
    CHECK(compared > 1000 && 2 * other > compared);
    CHECK_TEXT(safetensors_metadata(average, "averaged_checkpoints"), "3");
    CHECK_TEXT(safetensors_metadata(average, "step"), "45");
    for (int i = 0; i < AVERAGED; i++)
        safetensors_close(models[i]);
    safetensors_close(average);
}

static json_t *last_evaluation(const char *folder, int64_t back)
{
    size_t bytes;
    char *text = read_file(folder, "metrics.jsonl", &bytes), *line = text + bytes - 1;
    for (; back >= 0; back--) {
        *line = 0;
        while (line > text && line[-1] != '\n')
            line--;
        if (back > 0)
            line--;
    }
    json_t *object = json_loads(line, 0, NULL);
    free(text);
    CHECK_INT(json_integer_value(json_object_get(object, "step")), STEPS);
    return object;
}

/* The last line is the evaluation of the mean, the one before it that of the run's own weights; the mean is
 * loaded by its name, and never taken for the last checkpoint. */
static void test_evaluation(void)
{
    const char *folder = scratch_path("averaged");
    json_t *mean = last_evaluation(folder, 0), *own = last_evaluation(folder, 1);
    const json_t *mean_scores = json_object_get(mean, "evaluation"),
                 *own_scores = json_object_get(own, "evaluation");
    CHECK_TEXT(json_string_value(json_object_get(mean_scores, "checkpoint")), "average");
    CHECK(json_object_get(own_scores, "checkpoint") == NULL);
    const double loss = json_number_value(json_object_get(mean_scores, "loss"));
    CHECK(loss > 0.0 && loss != json_number_value(json_object_get(own_scores, "loss")));
    const struct train_load_call load = {.folder = folder,
                                         .checkpoint = CHECKPOINT_AVERAGE,
                                         .backend = &backend,
                                         .limits = {.batch = 2, .time = 48}};
    struct trained_model model;
    if (CHECK(train_load(&load, &model, NULL) == ROTARY_OK)) {
        struct evaluation evaluation = {0};
        const struct evaluation_config how = {
            .seed = (uint64_t)config.train.seed, .problems = 4, .validation_sequences = 2};
        CHECK(evaluation_run(model.task, model.transformer, &how, &evaluation, NULL) == ROTARY_OK);
        CHECK_NEAR(evaluation.loss, loss, 1e-8);
        CHECK_INT(model.step, STEPS);
        transformer_destroy(model.transformer);
        task_destroy(model.task);
    }
    json_decref(mean);
    json_decref(own);
    const char *copy = new_folder("swapped");
    copy_file(folder, "config.json", copy, "config.json");
    copy_file(folder, "average.safetensors", copy, "model.safetensors");
    struct train_load_call swapped = load;
    rotary_error error = {0};
    swapped.folder = copy;
    swapped.checkpoint = CHECKPOINT_LAST;
    CHECK_INT(train_load(&swapped, &model, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "is the average checkpoint of a run, wanted the last one");
    swapped.checkpoint = CHECKPOINT_AVERAGE;
    CHECK_INT(train_load(&swapped, &model, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "holds no average of checkpoints");
}

/* Without averaging, and with it, a run has the same weights and lines. */
static void test_same_run(void)
{
    const char *plain = trained("plain", STEPS, 0);
    struct safetensors *a = open_file(plain, "model.safetensors"),
                       *b = open_file(scratch_path("averaged"), "model.safetensors");
    for (int i = 0; i < safetensors_count(a); i++) {
        const struct safetensor *one = safetensors_at(a, i);
        CHECK(memcmp(one->data, tensor(b, one->name), (size_t)safetensors_elements(one) * sizeof(float)) ==
              0);
    }
    safetensors_close(a);
    safetensors_close(b);
    char *lines = timeless_metrics(plain), *with = timeless_metrics(scratch_path("averaged"));
    CHECK(strncmp(lines, with, strlen(lines)) == 0 && strlen(with) > strlen(lines));
    free(lines);
    free(with);
}

static bool same_average(const char *folder, const char *other)
{
    struct safetensors *a = open_file(folder, "average.safetensors"),
                       *b = open_file(other, "average.safetensors");
    bool same = strcmp(safetensors_metadata(a, "step"), safetensors_metadata(b, "step")) == 0;
    for (int i = 0; same && i < safetensors_count(a); i++) {
        const struct safetensor *one = safetensors_at(a, i);
        same =
            memcmp(one->data, tensor(b, one->name), (size_t)safetensors_elements(one) * sizeof(float)) == 0;
    }
    safetensors_close(a);
    safetensors_close(b);
    return same;
}

static void check_refused(struct run_config *run, const char *folder, const char *words)
{
    const uint64_t before = hash_folder(folder);
    struct train_call call = {.config = run, .backend = &backend, .folder = folder, .resume = true};
    struct train_result result;
    rotary_error error = {0};
    CHECK_INT(train_run(&call, &result, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    CHECK(hash_folder(folder) == before);
}

/* A finished run has removed the weights it averaged: it is continued if the new mean needs none of them. */
static void test_more_steps(void)
{
    char folder[512], whole[512];
    snprintf(folder, sizeof folder, "%s", trained("continued", STEPS, AVERAGED));
    CHECK(!has_file(folder, "weights-30.safetensors"));
    struct run_config run = config;
    run.train.average_checkpoints = AVERAGED;
    run.train.steps = 69;
    check_refused(&run, folder, "average_checkpoints is 3|69 steps|step 40|at least 70 steps");
    run.train.steps = 70;
    run.train.checkpoint_every = 5;
    check_refused(&run, folder, "checkpoint_every is 10|and 5 now");
    run.train.checkpoint_every = EVERY;
    run.train.average_checkpoints = AVERAGED - 1;
    check_refused(&run, folder, "average_checkpoints is 3");
    trained("continued", 70, AVERAGED);
    snprintf(whole, sizeof whole, "%s", trained("whole", 70, AVERAGED));
    CHECK(same_average(folder, whole));
}

static void check_config(int64_t steps, int64_t every, int64_t averaged, const char *words)
{
    struct run_config run = config;
    rotary_error error = {0};
    run.train.steps = steps;
    run.train.checkpoint_every = every;
    run.train.average_checkpoints = averaged;
    CHECK_INT(run_config_check(&run, &error), words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK);
    if (words)
        CHECK_WORDS(error.message, words);
}

static void test_configurations(void)
{
    check_config(45, 10, 4, NULL);
    check_config(45, 10, 5, "average_checkpoints is 5|45 steps|checkpoint_every 10|4 checkpoints");
    check_config(45, 0, 1, "average_checkpoints is 1|checkpoint_every 0|0 checkpoints");
    check_config(0, 10, 5, NULL);
    check_config(45, 0, 0, NULL);
}

int main(void)
{
    tiny_config(&config);
    config.train.checkpoint_every = EVERY;
    if (!CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK))
        return check_report();
    test_mean();
    test_evaluation();
    test_same_run();
    test_more_steps();
    test_configurations();
    backend_destroy(&backend);
    return check_report();
}
