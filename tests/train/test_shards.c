/* SPDX-License-Identifier: Apache-2.0
 *
 * A step in shards: the tree in which their gradients are summed, and that the step is the one of the whole
 * batches up to rounding, with the same data and dropout.
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

static struct backend backend;

/* ---- the tree ---- */

enum { ELEMENTS = 2500, LEAVES = 8 };

static float leaf_at(int64_t leaf, int64_t i)
{
    return (float)(sin((double)(leaf * ELEMENTS + i)) * pow(10.0, (double)((leaf * 7 + i) % 9 - 4)));
}

/* The sum of leaves first ... first + count - 1 of element i, halved as the tree is. */
static float sum_of(int64_t first, int64_t count, int64_t i)
{
    if (count == 1)
        return leaf_at(first, i);
    return sum_of(first, count / 2, i) + sum_of(first + count / 2, count / 2, i);
}

static double loss_of(int64_t first, int64_t count)
{
    return count == 1 ? (double)leaf_at(first, 0) / 3.0
                      : loss_of(first, count / 2) + loss_of(first + count / 2, count / 2);
}

static void add_leaves(struct parameters *parameters, struct shard_sums *sums, int64_t leaves)
{
    const struct parameter_range all = parameter_range(parameters, PARAMETER_GRADIENTS, 0);
    struct loss_sums losses;
    for (int64_t leaf = 0; leaf < leaves; leaf++) {
        float gradients[ELEMENTS];
        CHECK_INT(parameters_read(parameters, all, gradients, NULL), ROTARY_OK);
        for (int64_t i = 0; i < ELEMENTS; i++) {
            CHECK(leaf == 0 || gradients[i] == 0.0f);
            gradients[i] = leaf_at(leaf, i);
        }
        CHECK_INT(parameters_write(parameters, all, gradients, NULL), ROTARY_OK);
        losses = (struct loss_sums){.total = loss_of(leaf, 1), .counted = leaf, .correct = 1};
        CHECK_INT(shard_sums_add(sums, parameters, &losses, NULL), ROTARY_OK);
    }
    float got[ELEMENTS];
    CHECK_INT(parameters_read(parameters, all, got, NULL), ROTARY_OK);
    for (int64_t i = 0; i < ELEMENTS; i++)
        CHECK(got[i] == sum_of(0, leaves, i));
    CHECK(losses.total == loss_of(0, leaves));
    CHECK_INT(losses.counted, leaves * (leaves - 1) / 2);
    CHECK_INT(losses.correct, leaves);
}

static void test_tree(void)
{
    for (int64_t leaves = 1; leaves <= LEAVES; leaves *= 2) {
        check_about("%lld leaves", (long long)leaves);
        struct parameters parameters = {.backend = &backend};
        const struct parameter row = {.name = "weight", .rows = ELEMENTS};
        struct shard_sums sums;
        int index;
        if (!CHECK_INT(parameters_add(&parameters, &row, &index, NULL), ROTARY_OK) ||
            !CHECK_INT(parameters_allocate(&parameters, true, NULL), ROTARY_OK) ||
            !CHECK_INT(shard_sums_create(&sums, &parameters, shard_levels(leaves), NULL), ROTARY_OK))
            exit(check_report());
        add_leaves(&parameters, &sums, leaves);
        CHECK_INT(sums.leaves, 0);
        shard_sums_free(&sums, &backend);
        parameters_free(&parameters);
    }
    check_about("%s", "");
}

/* ---- steps ---- */

#define DROPS  "dropout=0.3;attention_dropout=0.2;activation_dropout=0.1"
#define LABELS "task=classification;classification_examples=40;classification_held_out=2;architecture=encoder"
static const struct {
    const char *what, *assignments;
    int64_t shards;
} cases[] = {
    {"sequences of one length", "task=index;index_letters=5;batch_size=8;sequence_length=48", 8},
    {"rows that do not divide", "task=index;index_letters=5;batch_size=7;sequence_length=48", 4},
    {"random positions", "task=index;index_letters=5;batch_size=4;sequence_length=48;randomized_positions=90",
     2},
    {"pairs",
     "task=translation;translation_pairs=60;translation_held_out=5;architecture=encoder_decoder;"
     "sequence_length=32;batch_size=8",
     4},
    {"a number of tokens",
     "task=translation;translation_pairs=60;translation_held_out=5;"
     "architecture=encoder_decoder;sequence_length=32;batch_tokens=150",
     8},
    {"few rows for the shards",
     "task=translation;translation_pairs=60;translation_held_out=5;"
     "architecture=encoder_decoder;sequence_length=32;batch_tokens=33",
     16},
    {"masked tokens",
     "task=masked;masked_documents=20;masked_held_out=2;masked_min_frequency=1;"
     "architecture=encoder;sequence_length=48;batch_size=8",
     4},
    {"labels", LABELS ";batch_size=8;sequence_length=48", 4},
    {"learned biases", "task=index;index_letters=5;batch_size=4;sequence_length=48;position=t5", 4},
};

static void assign(struct run_config *config, const char *assignments)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        set_option(config, one);
}

static void config_of(struct run_config *config, const char *assignments, int64_t shards)
{
    rotary_error error = {0};
    run_config_default(config);
    tiny_model(config, 2);
    assign(config, DROPS ";precision=f32;gradient_accumulation_steps=2;max_grad_norm=0");
    assign(config, assignments);
    config->train.shards = shards;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
}

static void create(struct trainer *trainer, const struct run_config *config, const struct backend *on)
{
    rotary_error error = {0};
    if (CHECK_INT(trainer_create(trainer, config, NULL, on, &error), ROTARY_OK))
        return;
    printf("%s\n", error.message);
    exit(check_report());
}

static struct trainer_step step_of(struct trainer *trainer, int64_t step)
{
    struct trainer_step taken = {.tokens = 0};
    rotary_error error = {0};
    if (!CHECK_INT(trainer_step(trainer, step, &taken, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK(!taken.diverged);
    return taken;
}

/* After one step the first moment is the gradient times 1 - beta1. */
static void test_like_whole(const char *assignments, int64_t shards)
{
    struct run_config config, whole_config;
    struct trainer trainer, whole;
    config_of(&config, assignments, shards);
    config_of(&whole_config, assignments, 1);
    create(&trainer, &config, &backend);
    create(&whole, &whole_config, &backend);
    const struct trainer_step got = step_of(&trainer, 3), wanted = step_of(&whole, 3);
    CHECK_INT(got.loss.counted, wanted.loss.counted);
    CHECK_INT(got.loss.correct, wanted.loss.correct);
    CHECK_INT(got.tokens, wanted.tokens);
    CHECK_NEAR(got.loss.total, wanted.loss.total, 1e-5 * wanted.loss.total);
    CHECK_NEAR(got.gradient_norm, wanted.gradient_norm, 1e-5 * wanted.gradient_norm);
    const struct parameters *parameters = transformer_parameters(whole.transformer);
    float *moments = parameter_copy(parameters, PARAMETER_MOMENT1),
          *of_shards = parameter_copy(transformer_parameters(trainer.transformer), PARAMETER_MOMENT1);
    double largest = 0.0;
    for (int64_t i = 0; i < parameters->elements; i++)
        largest = fmax(largest, fabs((double)moments[i]));
    CHECK(largest > 1e-4);
    for (int64_t i = 0; i < parameters->elements; i++)
        CHECK_NEAR((double)of_shards[i], (double)moments[i], 1e-5 * largest);
    free(moments);
    free(of_shards);
    trainer_destroy(&trainer);
    trainer_destroy(&whole);
    run_config_free(&config);
    run_config_free(&whole_config);
}

static void test_steps(void)
{
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        check_about("%s", cases[i].what);
        test_like_whole(cases[i].assignments, cases[i].shards);
    }
    check_about("%s", "");
}

static void test_threads(void)
{
    struct run_config config;
    struct backend three;
    struct trainer one, other;
    CHECK_INT(backend_create(&three, 3, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    config_of(&config, cases[4].assignments, 8);
    create(&one, &config, &backend);
    create(&other, &config, &three);
    for (int64_t step = 1; step <= 4; step++)
        CHECK(step_of(&one, step).loss.total == step_of(&other, step).loss.total);
    CHECK(parameter_same(transformer_parameters(one.transformer), transformer_parameters(other.transformer),
                         PARAMETER_VALUES));
    trainer_destroy(&one);
    trainer_destroy(&other);
    run_config_free(&config);
    backend_destroy(&three);
}

/* What the tree allocates is counted: a shard of 8 rows of 8 computes as a batch of one row does. */
static void test_bytes(void)
{
    enum { BATCHES = 1 << 16 };
    struct run_config config, alone;
    size_t bytes, of_alone;
    config_of(&config, cases[0].assignments, 8);
    config_of(&alone, cases[0].assignments, 1);
    alone.train.batch_size = 1;
    CHECK_INT(trainer_bytes(&config, &backend, &bytes, NULL), ROTARY_OK);
    CHECK_INT(trainer_bytes(&alone, &backend, &of_alone, NULL), ROTARY_OK);
    struct trainer trainer;
    create(&trainer, &config, &backend);
    step_of(&trainer, 1);
    const size_t gradients =
        3 * (size_t)transformer_parameters(trainer.transformer)->gradient_elements * sizeof(float);
    CHECK_INT((int64_t)trainer.sums.arena.used, (int64_t)gradients);
    CHECK(bytes - of_alone >= gradients && bytes - of_alone < gradients + BATCHES);
    trainer_destroy(&trainer);
}

static void test_refusals(void)
{
    static const struct {
        int64_t shards, batch_size;
        const char *message;
    } refused[] = {
        {3, 8, "shards is 3: wanted a power of two, such as 2"},
        {12, 16, "shards is 12: wanted a power of two, such as 8"},
        {8, 7, "shards is 8, but batch_size is 7: wanted at most as many shards as sequences"},
    };
    for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
        struct run_config config;
        rotary_error error = {0};
        tiny_config(&config);
        config.train.shards = refused[i].shards;
        config.train.batch_size = refused[i].batch_size;
        CHECK_INT(run_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_TEXT(error.message, refused[i].message);
    }
}

int main(void)
{
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    test_tree();
    test_steps();
    test_threads();
    test_bytes();
    test_refusals();
    backend_destroy(&backend);
    return check_report();
}
