/* SPDX-License-Identifier: Apache-2.0
 *
 * Training on a CUDA device, which may be emulated: loss and gradient norm of every step are those of the cpu
 * backend up to rounding, and a second run has the same bits in every parameter. Memory of the emulated
 * device is inaccessible to all but kernels and copies.
 */
#include "cuda/cuda_backend.h"
#include "support/check.h"
#include "train/runs.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4 };

struct training_case {
    const char *name;
    const char *settings[16];
};

static const struct training_case cases[] = {
    {"prefix, rope",
     {"task=prefix", "prefix_letters=4", "prefix_random=4", "prefix_substring=8", "position=rope"}},
    {"prefix, roper, dropout, swiglu, grouped heads, tied embeddings",
     {"task=prefix", "prefix_letters=4", "prefix_random=4", "prefix_substring=8", "position=roper",
      "dropout=0.1", "hidden_act=swiglu", "norm=rms_norm", "num_key_value_heads=1",
      "tie_word_embeddings=true", "optimizer=adamw", "weight_decay=0.1"}},
    {"translation, roper",
     {"task=translation", "translation_pairs=101", "translation_held_out=10", "architecture=encoder_decoder",
      "position=roper", "dropout=0.1", "label_smoothing=0.1"}},
};

static void configure(struct run_config *config, const struct training_case *of)
{
    rotary_error error = {0};
    run_config_default(config);
    for (size_t i = 0; i < sizeof of->settings / sizeof *of->settings && of->settings[i]; i++)
        set_option(config, of->settings[i]);
    config->task.sequence_length = 32;
    tiny_model(config, 1);
    config->train.steps = STEPS;
    config->train.batch_size = 2;
    config->train.gradient_accumulation_steps = 2;
    config->train.learning_rate = 5e-3;
    config->train.warmup_steps = 1;
    config->train.validation_sequences = 2;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

struct trained {
    struct trainer_step steps[STEPS];
    float *values; /* of all parameters */
    int64_t count;
};

static void read_values(const struct parameters *parameters, struct trained *made)
{
    made->count = parameters_total(parameters);
    made->values = malloc((size_t)made->count * sizeof *made->values);
    if (!made->values)
        abort();
    float *to = made->values;
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter_range range = parameter_range(parameters, PARAMETER_VALUES, i);
        CHECK_INT(parameters_read(parameters, range, to, NULL), ROTARY_OK);
        to += range.count;
    }
}

/* Destroys the backend. */
static struct trained train_on(struct backend *backend, const struct run_config *config)
{
    struct trained made = {0};
    struct trainer trainer;
    rotary_error error = {0};
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
    for (int i = 0; i < STEPS; i++)
        if (!CHECK_INT(trainer_step(&trainer, i + 1, &made.steps[i], &error), ROTARY_OK))
            printf("%s\n", error.message);
    read_values(transformer_parameters(trainer.transformer), &made);
    trainer_destroy(&trainer);
    backend_destroy(backend);
    return made;
}

static struct trained train_on_cuda(const struct run_config *config, enum precision precision)
{
    struct backend backend;
    CHECK_INT(cuda_backend_create(&backend, 1, rotary_isa_best(), precision, NULL), ROTARY_OK);
    return train_on(&backend, config);
}

static void test_case(const struct training_case *of, rotary_dtype storage)
{
    /* The bounds are those of two backends on the processor (tests/train/test_train_backends.c), over fewer steps. */
    const double bound = storage == ROTARY_F32 ? 2e-5 : 3e-2;
    const enum precision precision = storage == ROTARY_F32 ? PRECISION_F32 : PRECISION_BF16;
    struct run_config config;
    struct backend cpu;
    configure(&config, of);
    check_about("%s, %s", of->name, rotary_dtype_name(storage));
    CHECK_INT(backend_create(&cpu, 1, ROTARY_ISA_AUTO, precision, NULL), ROTARY_OK);
    struct trained wanted = train_on(&cpu, &config), got = train_on_cuda(&config, precision),
                   again = train_on_cuda(&config, precision);
    for (int i = 0; i < STEPS; i++) {
        const struct trainer_step *step = &got.steps[i], *cpu_step = &wanted.steps[i];
        CHECK(step->loss.counted > 0 && !step->diverged);
        CHECK_INT(step->loss.counted, cpu_step->loss.counted);
        CHECK_NEAR(step->loss.total, cpu_step->loss.total, bound * cpu_step->loss.total);
        CHECK_NEAR(step->gradient_norm, cpu_step->gradient_norm, 10 * bound * cpu_step->gradient_norm);
        CHECK(step->loss.total == again.steps[i].loss.total &&
              step->gradient_norm == again.steps[i].gradient_norm);
    }
    CHECK_INT(got.count, wanted.count);
    CHECK(memcmp(got.values, again.values, (size_t)got.count * sizeof *got.values) == 0);
    free(wanted.values);
    free(got.values);
    free(again.values);
    run_config_free(&config);
    check_about("%s", "");
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case(&cases[i], ROTARY_F32);
        if (has_bf16())
            test_case(&cases[i], ROTARY_BF16);
    }
    return check_report();
}
