/* SPDX-License-Identifier: Apache-2.0
 *
 * Small runs beside PyTorch (tests/golden/make_trajectory_goldens.py): initial weights, the loss, learning
 * rate and gradient norm of every step, the validation losses, the weights at the end, and the texts that are
 * then generated, greedily and sampled. What a run does with a key of its configuration is in one of them.
 *
 * Deviations are f32's rounding, below 1e-6 of a value on scalar and avx512; a mistake is off by 1e-3 or
 * more.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden_step {
    double loss, learning_rate, gradient_norm;
    double validation_loss; /* 0: none is due */
};
struct golden_probe { /* the dot product with cos(0.9 i + 0.5), and the norm */
    double product, norm;
};
struct golden_parameter {
    const char *name;
    struct golden_probe first, last;
};
struct golden_text {
    const char *prompt, *generated;
};
struct golden_run {
    const char *configuration;
    const struct golden_step *steps;
    const struct golden_parameter *parameters;
    int step_count, parameter_count, problems;
    const struct golden_text *greedy, *sampled; /* [problems] */
    double other_validation_loss;               /* of sampled_seed */
};
#include "train/trajectory_goldens.h"

static void read_configuration(struct run_config *config, const struct golden_run *golden)
{
    rotary_error error = {0};
    json_t *object = json_loads(golden->configuration, 0, NULL);
    CHECK(object != NULL);
    if (!CHECK(run_config_from_json(config, object, "the golden", &error) == ROTARY_OK) ||
        !CHECK(run_config_check(config, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    json_decref(object);
}

/* Compares every parameter; the bounds are relative to its norm, and for one that began at 0 absolute. */
static void check_parameters(const struct golden_run *golden, struct parameters *parameters, bool last,
                             double bound)
{
    CHECK_INT(parameters->count, golden->parameter_count);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int i = 0; i < golden->parameter_count; i++) {
        const struct golden_parameter *wanted = &golden->parameters[i];
        const struct golden_probe *probe = last ? &wanted->last : &wanted->first;
        check_about("%s of %s", last ? "the end" : "the beginning", wanted->name);
        int row = parameters_find(parameters, wanted->name);
        if (!CHECK(row >= 0))
            continue;
        const float *value = values + parameters->rows[row].offset;
        double product = 0, square = 0;
        for (int64_t j = 0; j < parameter_elements(&parameters->rows[row]); j++) {
            product += (double)value[j] * cos(0.9 * (double)j + 0.5);
            square += (double)value[j] * (double)value[j];
        }
        CHECK_NEAR(product, probe->product, bound * probe->norm);
        CHECK_NEAR(sqrt(square), probe->norm, bound * probe->norm);
    }
    check_about("%s", "");
    free(values);
}

static void check_first_weights(const struct golden_run *golden, const struct run_config *config,
                                const struct backend *backend)
{
    struct trainer trainer;
    CHECK(trainer_create(&trainer, config, NULL, backend, NULL) == ROTARY_OK);
    check_parameters(golden, transformer_parameters(trainer.transformer), false, 1e-6);
    trainer_destroy(&trainer);
}

struct watched {
    const struct golden_run *golden;
    int steps, evaluations;
};

static void check_step(void *argument, const struct train_progress *progress)
{
    struct watched *watched = argument;
    const struct golden_step *wanted = &watched->golden->steps[progress->step - 1];
    check_about("step %d", (int)progress->step);
    CHECK_INT(progress->step, ++watched->steps);
    CHECK_NEAR(progress->learning_rate, wanted->learning_rate, 1e-12 * wanted->learning_rate);
    CHECK_NEAR(progress->loss, wanted->loss, 1e-5 * wanted->loss);
    CHECK_NEAR(progress->gradient_norm, wanted->gradient_norm, 2e-5 * wanted->gradient_norm);
    CHECK_INT(progress->evaluation != NULL, wanted->validation_loss > 0);
    if (progress->evaluation) {
        watched->evaluations++;
        CHECK_NEAR(progress->evaluation->loss, wanted->validation_loss, 1e-5 * wanted->validation_loss);
    }
}

static void check_texts(const struct golden_text *wanted, const struct evaluation *got, int problems)
{
    CHECK_INT(got->problems, problems);
    CHECK_INT(got->sample_count, problems);
    for (int i = 0; i < problems; i++) {
        check_about("problem %d", i);
        CHECK_TEXT(got->samples[i].problem.prompt, wanted[i].prompt);
        CHECK_TEXT(got->samples[i].generated, wanted[i].generated);
    }
    check_about("%s", "");
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The line of an evaluation; that of the last has the texts that check_evaluations finds again. */
static void check_evaluation_line(const struct golden_run *golden, const json_t *line, int step)
{
    const json_t *evaluation = json_object_get(line, "evaluation"),
                 *samples = json_object_get(line, "samples");
    double wanted = golden->steps[step - 1].validation_loss;
    CHECK_NEAR(number_of(evaluation, "loss"), wanted, 1e-5 * wanted);
    CHECK_INT((int64_t)number_of(evaluation, "problems"), golden->problems);
    CHECK_INT((int64_t)json_array_size(samples), golden->problems);
    for (size_t i = 0; step == golden->step_count && i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        CHECK_TEXT(json_string_value(json_object_get(sample, "prompt")), golden->greedy[i].prompt);
        CHECK_TEXT(json_string_value(json_object_get(sample, "generated")), golden->greedy[i].generated);
    }
}

/* metrics.jsonl: a line for every step and one for each of its evaluations. */
static void check_lines(const struct golden_run *golden, const char *folder)
{
    char *text = timeless_metrics(folder), *rest = text;
    int lines = 0, evaluations = 0;
    for (char *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1) {
        json_t *line = json_loadb(rest, (size_t)(end - rest), 0, NULL);
        int step = (int)number_of(line, "step");
        check_about("line of step %d", step);
        const struct golden_step *wanted = &golden->steps[step - 1];
        if (json_object_get(line, "evaluation")) {
            CHECK_INT(step, 5 * ++evaluations);
            check_evaluation_line(golden, line, step);
        } else {
            CHECK_INT(step, ++lines);
            CHECK_NEAR(number_of(line, "loss"), wanted->loss, 1e-5 * wanted->loss);
            CHECK_NEAR(number_of(line, "learning_rate"), wanted->learning_rate, 1e-8 * wanted->learning_rate);
            CHECK_NEAR(number_of(line, "gradient_norm"), wanted->gradient_norm, 2e-5 * wanted->gradient_norm);
        }
        json_decref(line);
    }
    check_about("%s", "");
    CHECK_INT(lines, golden->step_count);
    CHECK_INT(evaluations, 4);
    free(text);
}

/* Evaluates the finished run as `rotary evaluate` does: greedily with its own seed, sampled with another. */
static void check_evaluations(const struct golden_run *golden, const struct run_config *config,
                              const struct backend *backend, const char *folder)
{
    enum { MAX_PROBLEMS = 8 };
    struct trained_model model;
    struct train_load_call load = {
        .folder = folder,
        .backend = backend,
        .limits = {.batch = config->train.batch_size, .time = config->task.sequence_length}};
    if (!CHECK(train_load(&load, &model, NULL) == ROTARY_OK))
        return;
    check_parameters(golden, transformer_parameters(model.transformer), true, 2e-5);
    struct evaluation_sample samples[MAX_PROBLEMS];
    for (int sampled = 0; sampled < 2; sampled++) {
        check_about("%s", sampled ? "sampled" : "greedy");
        const struct evaluation_config how = {.seed = sampled ? sampled_seed : (uint64_t)config->train.seed,
                                              .problems = model.config.task.problems,
                                              .validation_sequences = config->train.validation_sequences,
                                              .temperature = sampled ? sampled_temperature : 0.0f};
        struct evaluation evaluation = {.sample_count = MAX_PROBLEMS, .samples = samples};
        CHECK(evaluation_run(model.task, model.transformer, &how, &evaluation, NULL) == ROTARY_OK);
        double loss =
            sampled ? golden->other_validation_loss : golden->steps[golden->step_count - 1].validation_loss;
        CHECK_NEAR(evaluation.loss, loss, 1e-5 * loss);
        check_texts(sampled ? golden->sampled : golden->greedy, &evaluation, golden->problems);
    }
    transformer_destroy(model.transformer);
    task_destroy(model.task);
}

static void check_run(const struct golden_run *golden, rotary_isa isa, const char *folder)
{
    struct backend backend;
    struct run_config config;
    rotary_error error = {0};
    read_configuration(&config, golden);
    if (backend_create(&backend, 2, isa, PRECISION_F32, &error) != ROTARY_OK) {
        CHECK(isa == ROTARY_ISA_AVX2); /* which this processor need not have */
        return;
    }
    check_first_weights(golden, &config, &backend);
    struct watched watched = {.golden = golden};
    const struct train_call call = {.config = &config,
                                    .backend = &backend,
                                    .folder = folder,
                                    .progress = check_step,
                                    .argument = &watched};
    struct train_result result;
    if (!CHECK(train_run(&call, &result, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    check_about("%s", "");
    CHECK_INT(watched.steps, golden->step_count);
    CHECK_INT(watched.evaluations, 4);
    CHECK_INT(result.steps_done, golden->step_count);
    const struct golden_step *last = &golden->steps[golden->step_count - 1];
    CHECK_NEAR(result.loss, last->loss, 1e-5 * last->loss);
    CHECK_NEAR(result.evaluation.loss, last->validation_loss, 1e-5 * last->validation_loss);
    check_lines(golden, folder);
    check_evaluations(golden, &config, &backend, folder);
    backend_destroy(&backend);
}

int main(void)
{
    static const rotary_isa isas[] = {ROTARY_ISA_AUTO, ROTARY_ISA_AVX2, ROTARY_ISA_SCALAR};
    for (size_t i = 0; i < sizeof golden_runs / sizeof *golden_runs; i++)
        for (int isa = 0; isa < 3; isa++) {
            char name[32];
            snprintf(name, sizeof name, "run %zu isa %d", i, isa);
            printf("%s\n", name);
            check_run(&golden_runs[i], isas[isa], scratch_path(name));
        }
    return check_report();
}
