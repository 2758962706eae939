/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences are packed: a step has those of the task's order and nothing else, and its loss and gradients are
 * those of batches of one sentence each.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "train/runs.h"

#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, MICRO = 3, SEED = 11 };

static void sentences_config(struct run_config *config)
{
    run_config_default(config);
    set_option(config, "task=translation");
    set_option(config, "translation_pairs=101");
    set_option(config, "translation_held_out=10");
    set_option(config, "architecture=encoder_decoder");
    config->task.sequence_length = 32;
    tiny_model(config, 2);
    config->model.label_smoothing = 0.1;
    config->train.epochs = 4;
    config->train.batch_size = ROWS;
    config->train.gradient_accumulation_steps = MICRO;
    config->train.seed = SEED;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

/* The sums and gradients of a step whose sentences are each a batch alone, of a model of initial weights. */
struct alone {
    struct trainer trainer;
    int64_t targets;
    struct loss_sums loss;
    float *gradients;
    double norm;
};

static struct task_example sentence_at(const struct trainer *trainer, int64_t step, int64_t i)
{
    const struct row_order order = {.task = trainer->task, .seed = SEED};
    return example_at(&order, (step - 1) * ROWS * MICRO + i);
}

static rotary_status run(struct trainer *trainer, const struct batch *batch, int64_t targets,
                         struct loss_sums *loss)
{
    const struct transformer_call call = {
        .batch = batch, .backward = true, .gradient_scale = (float)(1.0 / (double)targets)};
    struct loss_sums sums = {0};
    rotary_status status = transformer_run(trainer->transformer, &call, &sums, NULL);
    loss->total += sums.total;
    loss->counted += sums.counted;
    return status;
}

static void run_alone(struct alone *alone, int64_t step)
{
    for (int64_t i = 0; i < (int64_t)ROWS * MICRO; i++)
        alone->targets += sentence_at(&alone->trainer, step, i).target_count;
    for (int64_t i = 0; i < (int64_t)ROWS * MICRO; i++) {
        const struct task_example sentence = sentence_at(&alone->trainer, step, i);
        const struct batch batch = {
            .input = {.batch = 1, .time = sentence.target_count, .tokens = sentence.target},
            .source = {.batch = 1, .time = sentence.source_count, .tokens = sentence.source},
            .classes = sentence.target + 1};
        CHECK_INT(run(&alone->trainer, &batch, alone->targets, &alone->loss), ROTARY_OK);
    }
    const struct parameters *parameters = transformer_parameters(alone->trainer.transformer);
    alone->gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < parameters->elements; i++)
        alone->norm += (double)alone->gradients[i] * (double)alone->gradients[i];
    alone->norm = sqrt(alone->norm);
}

static void check_sentence(const struct token_sequences *packed, int64_t index, const int32_t *tokens,
                           int64_t length)
{
    const int32_t begin = packed->starts[index];
    CHECK_INT(packed->starts[index + 1] - begin, length);
    CHECK(memcmp(packed->tokens + begin, tokens, (size_t)length * sizeof *tokens) == 0);
}

/* The sentences are those of the order, and there is nothing else. */
static void check_sentences(const struct trainer *trainer, int64_t step)
{
    for (int64_t i = 0; i < (int64_t)ROWS * MICRO; i++) {
        const struct batch *batch = &trainer->data[0].batches[i / ROWS];
        const struct task_example sentence = sentence_at(trainer, step, i);
        CHECK_INT(batch->input.batch, ROWS);
        CHECK_INT(batch->source.batch, ROWS);
        check_sentence(&batch->input, i % ROWS, sentence.target, sentence.target_count);
        check_sentence(&batch->source, i % ROWS, sentence.source, sentence.source_count);
        CHECK(memcmp(batch->classes + batch->input.starts[i % ROWS], sentence.target + 1,
                     (size_t)sentence.target_count * sizeof(int32_t)) == 0);
    }
}

/* The batches of a step, from initial weights, give the gradients of sentences alone. */
static void check_gradients(struct trainer *fresh, const struct trainer *filled, const struct alone *alone)
{
    struct loss_sums loss = {0};
    for (int64_t i = 0; i < MICRO; i++)
        CHECK_INT(run(fresh, &filled->data[0].batches[i], alone->targets, &loss), ROTARY_OK);
    const struct parameters *parameters = transformer_parameters(fresh->transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    double difference = 0, largest = 0;
    for (int64_t i = 0; i < parameters->elements; i++) {
        difference = fmax(difference, fabs((double)gradients[i] - (double)alone->gradients[i]));
        largest = fmax(largest, fabs((double)alone->gradients[i]));
    }
    CHECK(largest > 1e-3);
    CHECK_NEAR(difference, 0.0, 1e-6 * largest);
    free(gradients);
}

/* Step 7 is the end of the first epoch, which has 101 sentences, and the beginning of the second. */
static void test_like_alone(const struct run_config *config, const struct backend *backend, int64_t step)
{
    struct alone alone = {.targets = 0};
    struct trainer trainer, fresh;
    struct trainer_step taken;
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, NULL), ROTARY_OK) ||
        !CHECK_INT(trainer_create(&fresh, config, NULL, backend, NULL), ROTARY_OK) ||
        !CHECK_INT(trainer_create(&alone.trainer, config, NULL, backend, NULL), ROTARY_OK))
        exit(check_report());
    run_alone(&alone, step);
    CHECK_INT(trainer_step(&trainer, step, &taken, NULL), ROTARY_OK);
    check_sentences(&trainer, step);
    CHECK_INT(trainer.size.tokens, ROWS * examples_longest(trainer.task).tokens);
    CHECK(trainer.size.tokens < (int64_t)ROWS * config->task.sequence_length);
    CHECK_INT(taken.loss.counted, alone.targets);
    CHECK_NEAR(taken.loss.total, alone.loss.total, 1e-6 * alone.loss.total);
    CHECK_NEAR(taken.gradient_norm, alone.norm, 1e-5 * alone.norm);
    check_gradients(&fresh, &trainer, &alone);
    free(alone.gradients);
    trainer_destroy(&alone.trainer);
    trainer_destroy(&fresh);
    trainer_destroy(&trainer);
}

int main(void)
{
    struct run_config config;
    struct backend backend;
    sentences_config(&config);
    CHECK_INT(config.train.steps, 28); /* 21 batches an epoch */
    if (CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK)) {
        test_like_alone(&config, &backend, 1);
        test_like_alone(&config, &backend, 7);
        backend_destroy(&backend);
    }
    return check_report();
}
