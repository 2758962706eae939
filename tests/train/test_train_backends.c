/* SPDX-License-Identifier: Apache-2.0
 *
 * Training on the reference backend: the loss falls, and loss and gradient norm of every step are those of
 * the cpu backend up to rounding. Memory that only operations may touch shows that the trainer, the models,
 * the layers and the optimizer touch none.
 */
#include "backend/reference_backend.h"
#include "support/check.h"
#include "train/runs.h"
#include "train/trainer.h"

#include <stdio.h>

enum { STEPS = 24, PART = 4 };

/* Settings besides those of tiny_config, which has dropout and two micro-batches a step. */
struct training_case {
    const char *name;
    const char *settings[6];
};

static const struct training_case cases[] = {
    {"rope, pre-norm", {"position=rope", "optimizer=adam"}},
    {"roper, post-norm, grouped heads, swiglu",
     {"position=roper", "norm_position=post", "norm=rms_norm", "hidden_act=swiglu", "num_key_value_heads=1",
      "optimizer=adamw"}},
    {"t5, grouped heads",
     {"position=t5", "relative_attention_num_buckets=8", "relative_attention_max_distance=20",
      "num_key_value_heads=1", "optimizer=adam"}},
    {"shaw, grouped heads", {"position=shaw", "max_relative_position=5", "num_key_value_heads=1"}},
    {"transformer-xl, norm of queries", {"position=transformer-xl", "query_key_norm=head", "bias=false"}},
    {"fire", {"position=fire", "fire_length=4", "optimizer=adam"}},
    {"sinks", {"position=roper", "attention_sinks=true", "num_key_value_heads=1", "optimizer=adam"}},
    {"keys as values, grouped heads",
     {"position=roper", "key_is_value=true", "num_key_value_heads=1", "partial_rotary_factor=0.5"}},
    {"unrotated keys as values, norm of queries",
     {"position=rope", "key_is_value=unrotated", "query_key_norm=head", "optimizer=adam"}},
    {"learned, tied embeddings, gelu, smoothed, no clipping",
     {"position=learned", "tie_word_embeddings=true", "hidden_act=gelu", "label_smoothing=0.1",
      "max_grad_norm=0"}},
};

static void configure(struct run_config *config, const struct training_case *of)
{
    tiny_config(config);
    config->train.learning_rate = 5e-3;
    for (int i = 0; i < 6 && of->settings[i]; i++)
        set_option(config, of->settings[i]);
}

static void train_on(const struct backend *backend, const struct run_config *config,
                     struct trainer_step steps[STEPS])
{
    struct trainer trainer;
    rotary_error error = {0};
    rotary_status status = trainer_create(&trainer, config, NULL, backend, &error);
    if (!CHECK_INT(status, ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    for (int i = 0; i < STEPS; i++)
        if (!CHECK_INT(trainer_step(&trainer, i + 1, &steps[i], &error), ROTARY_OK))
            printf("%s\n", error.message);
    trainer_destroy(&trainer);
}

static double mean_loss(const struct trainer_step *steps)
{
    double total = 0.0;
    int64_t counted = 0;
    for (int i = 0; i < PART; i++) {
        total += steps[i].loss.total;
        counted += steps[i].loss.counted;
    }
    return total / (double)counted;
}

/* Differences of rounding grow with the steps: f32 keeps 24 bits, bf16 8. */
static void test_case(const struct training_case *of, rotary_dtype storage)
{
    double bound = storage == ROTARY_F32 ? 1e-4 : 3e-2;
    struct run_config config;
    struct backend cpu, reference;
    struct trainer_step got[STEPS] = {0}, wanted[STEPS] = {0};
    enum precision precision = storage == ROTARY_F32 ? PRECISION_F32 : PRECISION_BF16;
    configure(&config, of);
    check_about("%s, %s", of->name, rotary_dtype_name(storage));
    CHECK_INT(backend_create(&cpu, 2, ROTARY_ISA_AUTO, precision, NULL), ROTARY_OK);
    CHECK_INT(reference_backend_create(&reference, storage, NULL), ROTARY_OK);
    train_on(&cpu, &config, got);
    train_on(&reference, &config, wanted);
    for (int i = 0; i < STEPS; i++) {
        CHECK_INT(got[i].loss.counted, wanted[i].loss.counted);
        CHECK_NEAR(got[i].loss.total, wanted[i].loss.total, bound * wanted[i].loss.total);
        CHECK_NEAR(got[i].gradient_norm, wanted[i].gradient_norm, 10 * bound * wanted[i].gradient_norm);
        CHECK(!got[i].diverged && !wanted[i].diverged);
    }
    CHECK(mean_loss(wanted + STEPS - PART) < 0.8 * mean_loss(wanted));
    check_about("%s", "");
    backend_destroy(&cpu);
    backend_destroy(&reference);
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
