/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of trained models at other lengths: they are those of a model that was configured for the length
 * and has the same parameters, text generated without a cache included.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "layer/encoding/encoding.h"
#include "model/generation/generation.h"
#include "train/evaluation/length_evaluation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 3, LENGTH = 48, LONGER = 112 };

static struct backend backend;

static void assign(struct run_config *config, const char *assignments)
{
    char text[512];
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        set_option(config, one);
}

/* A trained run. The settings of all begin with its encoding, by which its folder is named. */
struct trained {
    struct run_config config;
    const char *folder;
};

static struct trained train_with(const char *settings)
{
    static int number;
    struct trained trained;
    char name[32];
    snprintf(name, sizeof name, "run%d", number++);
    tiny_config(&trained.config);
    trained.config.train.steps = 6;
    assign(&trained.config, settings);
    CHECK(run_config_check(&trained.config, NULL) == ROTARY_OK);
    trained.folder = strdup(scratch_path(name));
    train_to_end(&trained.config, 1, trained.folder);
    return trained;
}

static const struct evaluation_config how = {.seed = 5, .problems = PROBLEMS, .validation_sequences = 3};

/* Of longrope: one for each pair of channels of a head. */
#define FACTORS "\"short_factor\":[1,1,1,1],\"long_factor\":[1,1.5,2,4]"
static json_t *factors;

static struct length_call call_of(const struct trained *trained, int64_t length, enum length_scaling scaling)
{
    return (struct length_call){.folder = trained->folder,
                                .checkpoint = CHECKPOINT_LAST,
                                .config = &trained->config,
                                .backend = &backend,
                                .evaluation = &how,
                                .length = length,
                                .scaling = scaling,
                                .factors = factors};
}

/* The text that the model generates for a problem, without a cache. */
static void generate_plainly(const struct task *task, struct transformer *transformer, int64_t index,
                             char text[TASK_TEXT_BYTES])
{
    int32_t tokens[LONGER], output[TASK_TEXT_BYTES], *outputs[] = {output};
    const int32_t *prompts[] = {tokens};
    struct token_list list = {.tokens = tokens, .capacity = task_configuration(task)->sequence_length};
    task_long_prompt(task, how.seed, index, &list);
    int64_t generated = 0;
    const struct generate_config config = {
        .max_new_tokens = task_problem_size(task).completion, .stop = task_stop(task), .without_cache = true};
    const struct generate_call call = {
        .count = 1, .prompts = prompts, .lengths = &list.count, .outputs = outputs, .generated = &generated};
    CHECK_INT(generation_run(transformer, &config, &call, NULL), ROTARY_OK);
    tokenizer_decode(task_tokenizer(task), output, generated, text, TASK_TEXT_BYTES);
}

/* Compares scores with those of a model that has other settings and the trained parameters. */
static void check_scores(const struct trained *trained, int64_t length, enum length_scaling scaling,
                         const char *settings)
{
    const struct length_call call = call_of(trained, length, scaling);
    struct evaluation_sample samples[PROBLEMS] = {0};
    struct evaluation found = {.sample_count = PROBLEMS, .samples = samples}, expected = {0};
    rotary_error error = {0};
    check_about("%s at %lld, %s", position_names[trained->config.model.position], (long long)length,
                length_scaling_names[scaling]);
    CHECK(length_is_possible(&call));
    if (!CHECK_INT(length_evaluate(&call, &found, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    struct run_config other RUN_CONFIG_LOCAL = {0};
    run_config_copy(&other, &trained->config);
    assign(&other, settings);
    const struct train_load_call load = {
        .folder = trained->folder, .backend = &backend, .limits = {.batch = 1, .time = LENGTH}};
    struct trained_model model;
    struct transformer *longer = NULL;
    struct task *task = NULL;
    if (!CHECK_INT(train_load(&load, &model, &error), ROTARY_OK) ||
        !CHECK_INT(task_create(&task, &other.task, NULL, &error), ROTARY_OK) ||
        !CHECK_INT(transformer_create(&longer, &backend, &other.model,
                                      (struct transformer_limits){.batch = 1, .time = length}, 1, &error),
                   ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    parameter_give(transformer_parameters(longer), PARAMETER_VALUES,
                   parameter_copy(transformer_parameters(model.transformer), PARAMETER_VALUES));
    struct evaluation_config last = how;
    last.last = true;
    CHECK_INT(evaluation_run(task, longer, &last, &expected, &error), ROTARY_OK);
    CHECK_NEAR(found.loss, expected.loss, 1e-6);
    CHECK_NEAR(found.accuracy, expected.accuracy, 1e-9);
    CHECK_INT(found.problems, PROBLEMS);
    CHECK_INT(found.sample_count, PROBLEMS);
    for (int64_t i = 0; i < PROBLEMS; i++) {
        char text[TASK_TEXT_BYTES];
        generate_plainly(task, longer, i, text);
        CHECK_TEXT(samples[i].generated, text);
    }
    transformer_destroy(longer);
    trained_model_free(&model);
    task_destroy(task);
    check_about("%s", "");
}

static double loss_at(const struct trained *trained, int64_t length, enum length_scaling scaling)
{
    const struct length_call call = call_of(trained, length, scaling);
    struct evaluation found = {0};
    CHECK_INT(length_evaluate(&call, &found, NULL), ROTARY_OK);
    return found.loss;
}

static void test_scalings(void)
{
    const struct trained rope = train_with("position=rope");
    check_scores(&rope, LENGTH, LENGTH_SCALING_NONE, "position=rope");
    check_scores(&rope, LENGTH, LENGTH_SCALING_LINEAR, "position=rope"); /* nothing to scale */
#define LONG_SETTINGS "sequence_length=112;max_position_embeddings=112"
    check_scores(&rope, LONGER, LENGTH_SCALING_NONE, LONG_SETTINGS);
    check_scores(&rope, LONGER, LENGTH_SCALING_LINEAR,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"linear\",\"factor\":2.3333333333333335}");
    check_scores(&rope, LONGER, LENGTH_SCALING_NTK,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"ntk\",\"factor\":2.3333333333333335}");
    check_scores(&rope, LONGER, LENGTH_SCALING_DYNAMIC,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"dynamic\",\"factor\":2.3333333333333335,"
                               "\"original_max_position_embeddings\":48}");
    check_scores(&rope, LONGER, LENGTH_SCALING_YARN,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"yarn\",\"factor\":2.3333333333333335,"
                               "\"original_max_position_embeddings\":48}");
    check_scores(&rope, LONGER, LENGTH_SCALING_LLAMA3,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"llama3\",\"factor\":2.3333333333333335,"
                               "\"original_max_position_embeddings\":48,\"low_freq_factor\":1,"
                               "\"high_freq_factor\":4}");
    check_scores(&rope, LONGER, LENGTH_SCALING_LONGROPE,
                 LONG_SETTINGS ";rope_scaling={\"rope_type\":\"longrope\",\"factor\":2.3333333333333335,"
                               "\"original_max_position_embeddings\":48," FACTORS "}");
    double losses[LENGTH_SCALINGS];
    for (int i = 0; i < LENGTH_SCALINGS; i++) {
        losses[i] = loss_at(&rope, LONGER, (enum length_scaling)i);
        for (int j = 0; j < i; j++)
            CHECK(losses[i] != losses[j]);
    }
    free((char *)(uintptr_t)rope.folder);
}

static void test_encodings(void)
{
    static const char *const endless[] = {"position=none", "position=sinusoidal",     "position=alibi",
                                          "position=shaw", "position=transformer-xl", "position=roper"};
    for (int i = 0; i < 6; i++) {
        const struct trained trained = train_with(endless[i]);
        check_scores(&trained, LONGER, LENGTH_SCALING_NONE, LONG_SETTINGS);
        const struct length_call scaled = call_of(&trained, LONGER, LENGTH_SCALING_YARN);
        CHECK_INT(length_is_possible(&scaled), i == 5);
        free((char *)(uintptr_t)trained.folder);
    }
    const struct trained learned = train_with("position=learned;max_position_embeddings=64");
    check_scores(&learned, 64, LENGTH_SCALING_NONE, "sequence_length=64");
    const struct length_call beyond = call_of(&learned, 65, LENGTH_SCALING_NONE);
    CHECK(!length_is_possible(&beyond));
    free((char *)(uintptr_t)learned.folder);
    /* Magnitudes of 96 positions would reach e^60. */
    const struct trained steep = train_with("position=xpos;xpos_scale=1");
    check_scores(&steep, 60, LENGTH_SCALING_NONE, "sequence_length=60;max_position_embeddings=60");
    const struct length_call overflowing = call_of(&steep, 96, LENGTH_SCALING_NONE);
    CHECK(!length_is_possible(&overflowing));
    free((char *)(uintptr_t)steep.folder);
    /* A longer sequence has more of the same positions. */
    static const char *const randomized[] = {"position=learned;randomized_positions=112",
                                             "position=rope;randomized_positions=112"};
    for (int i = 0; i < 2; i++) {
        const struct trained trained = train_with(randomized[i]);
        check_scores(&trained, LONGER, LENGTH_SCALING_NONE, LONG_SETTINGS);
        const struct length_call more = call_of(&trained, 113, LENGTH_SCALING_NONE),
                                 scaled = call_of(&trained, LONGER, LENGTH_SCALING_YARN);
        CHECK(!length_is_possible(&more) && !length_is_possible(&scaled));
        free((char *)(uintptr_t)trained.folder);
    }
}

/* A rotation that was scaled in training stays as it was, and is not scaled again. */
static void test_own_scaling(void)
{
    struct trained dynamic = train_with(
        "position=rope;rope_scaling={\"rope_type\":\"dynamic\",\"factor\":2,\"original_max_position_"
        "embeddings\":16}");
    check_scores(&dynamic, LONGER, LENGTH_SCALING_NONE, "sequence_length=112");
    const struct length_call call = call_of(&dynamic, LONGER, LENGTH_SCALING_YARN);
    struct evaluation evaluation = {0};
    rotary_error error = {0};
    CHECK_INT(length_evaluate(&call, &evaluation, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "yarn") && strstr(error.message, "rope_scaling"));
    run_config_free(&dynamic.config);
    free((char *)(uintptr_t)dynamic.folder);
}

static void test_refused(void)
{
    const struct trained rope = train_with("position=rope");
    struct length_call call = call_of(&rope, 16, LENGTH_SCALING_NONE);
    struct evaluation evaluation = {0};
    rotary_error error = {0};
    CHECK_INT(length_evaluate(&call, &evaluation, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "sequence_length 16") != NULL);
    struct run_config translation = rope.config;
    translation.task.task = TASK_TRANSLATION;
    call.config = &translation;
    CHECK_INT(length_evaluate(&call, &evaluation, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "translation has a corpus") != NULL);
    call = call_of(&rope, LONGER, LENGTH_SCALING_LONGROPE);
    json_t *others = json_loads("{\"short_factor\":[1,1,1],\"long_factor\":[1,2,3]}", 0, NULL);
    call.factors = others;
    CHECK_INT(length_evaluate(&call, &evaluation, &error), ROTARY_INVALID_ARGUMENT);
    json_decref(others);
    CHECK(strstr(error.message, "short_factor") != NULL);
    call.factors = NULL;
    CHECK_INT(length_evaluate(&call, &evaluation, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "longrope without short_factor") != NULL);
    call = call_of(&rope, 24, LENGTH_SCALING_LINEAR);
    CHECK_NEAR(length_factor(&call), 1, 0);
    call.length = 96;
    CHECK_NEAR(length_factor(&call), 2, 0);
    free((char *)(uintptr_t)rope.folder);
}

int main(void)
{
    if (backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) != ROTARY_OK)
        return 1;
    factors = json_loads("{" FACTORS "}", 0, NULL);
    test_scalings();
    test_encodings();
    test_own_scaling();
    test_refused();
    json_decref(factors);
    backend_destroy(&backend);
    return check_report();
}
