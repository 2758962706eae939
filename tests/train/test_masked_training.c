/* SPDX-License-Identifier: Apache-2.0
 *
 * Training on masked documents: batches have the task's sequences and masks, documents do not see one
 * another, validation is the same at each evaluation, and runs have the same bits for any number of threads
 * and after having been resumed.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "train/evaluation/evaluation.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, TOKENS = 200, MICRO = 2 };

static void masked_config(struct run_config *config)
{
    run_config_default(config);
    set_option(config, "task=masked");
    set_option(config, "masked_documents=60");
    set_option(config, "masked_held_out=6");
    set_option(config, "masked_min_frequency=1");
    set_option(config, "architecture=encoder");
    config->task.sequence_length = 48;
    tiny_model(config, 2);
    config->model.dropout = 0.1;
    config->train.steps = 30; /* more than an epoch */
    config->train.batch_tokens = TOKENS;
    config->train.gradient_accumulation_steps = MICRO;
    config->train.learning_rate = 3e-3;
    config->train.log_every = 5;
    config->train.evaluate_every = 10;
    config->train.checkpoint_every = 7;
    config->train.seed = SEED;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

/* ---- batches ---- */

/* Sequences lie one behind the other, each between begin and end, and in the order of the seed; nothing is
 * left out. Returns the targets. */
static int64_t check_batch(const struct trainer *trainer, const struct batch *batch, int64_t ordinal)
{
    const struct special_tokens special = tokenizer_special(task_tokenizer(trainer->task));
    const struct row_order order = {.task = trainer->task, .seed = SEED};
    int64_t targets = 0, masked = 0;
    CHECK(token_rows(&batch->input) <= TOKENS && batch->source.batch == 0);
    for (int64_t i = 0; i < batch->input.batch; i++) {
        const int32_t begin = batch->input.starts[i], end = batch->input.starts[i + 1];
        CHECK_INT(end - begin, example_at(&order, ordinal + i).target_count);
        CHECK_INT(batch->input.tokens[begin], special.begin);
        CHECK_INT(batch->input.tokens[end - 1], special.end);
        int64_t here = 0;
        for (int32_t j = begin; j < end; j++) {
            here += batch->classes[j] != BATCH_IGNORED;
            masked += batch->input.tokens[j] == special.mask;
            CHECK(batch->classes[j] == BATCH_IGNORED || batch->classes[j] > special.mask);
        }
        CHECK(here > 0 && here < end - begin - 1);
        targets += here;
    }
    CHECK(masked > 0 && masked <= targets);
    return targets;
}

/* The loss of a step is the mean over its masked tokens. */
static void test_steps(const struct run_config *config, const struct backend *backend)
{
    struct trainer trainer;
    int64_t ordinal = 0, all = 0, tokens = 0;
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, NULL), ROTARY_OK))
        exit(check_report());
    for (int step = 1; step <= 20; step++) {
        struct trainer_step taken;
        int64_t targets = 0, read = 0;
        CHECK_INT(trainer_step(&trainer, step, &taken, NULL), ROTARY_OK);
        for (int i = 0; i < MICRO; i++) {
            targets += check_batch(&trainer, &trainer.data[0].batches[i], ordinal);
            ordinal += trainer.data[0].batches[i].input.batch;
            read += token_rows(&trainer.data[0].batches[i].input);
        }
        CHECK_INT(taken.loss.counted, targets);
        CHECK_INT(taken.tokens, read);
        CHECK(!taken.diverged && taken.gradient_norm > 0);
        all += targets;
        tokens += read;
    }
    CHECK(ordinal > task_examples(trainer.task, TASK_TRAINING)); /* an epoch ended within */
    CHECK_NEAR((double)all / (double)tokens, 0.15, 0.03);
    trainer_destroy(&trainer);
}

/* The gradients of a step are those of the mean over the masked tokens of all its micro-batches. */
static void test_gradients(const struct run_config *config, const struct backend *backend)
{
    struct trainer trainer, fresh;
    struct trainer_step taken;
    int64_t targets = 0;
    double squares = 0;
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, NULL), ROTARY_OK) ||
        !CHECK_INT(trainer_create(&fresh, config, NULL, backend, NULL), ROTARY_OK) ||
        !CHECK_INT(trainer_step(&trainer, 1, &taken, NULL), ROTARY_OK))
        exit(check_report());
    for (int i = 0; i < MICRO; i++)
        for (int64_t j = 0; j < token_rows(&trainer.data[0].batches[i].input); j++)
            targets += trainer.data[0].batches[i].classes[j] != BATCH_IGNORED;
    for (int i = 0; i < MICRO; i++) {
        const struct transformer_call call = {.batch = &trainer.data[0].batches[i],
                                              .backward = true,
                                              .gradient_scale = (float)(1.0 / (double)targets),
                                              .seed = SEED,
                                              .micro_step = (uint32_t)i};
        CHECK_INT(transformer_run(fresh.transformer, &call, NULL, NULL), ROTARY_OK);
    }
    const struct parameters *parameters = transformer_parameters(fresh.transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < parameters->elements; i++)
        squares += (double)gradients[i] * (double)gradients[i];
    CHECK_NEAR(taken.gradient_norm, sqrt(squares), 1e-5 * sqrt(squares));
    free(gradients);
    trainer_destroy(&fresh);
    trainer_destroy(&trainer);
}

/* ---- documents ---- */

static double loss_of(struct transformer *transformer, const struct batch *batch)
{
    struct loss_sums loss = {0};
    CHECK_INT(transformer_run(transformer, &(struct transformer_call){.batch = batch}, &loss, NULL),
              ROTARY_OK);
    return loss.total;
}

/* The loss of one sequence of a batch does not depend on the tokens of the others; on its own it does, also
 * on those behind. */
static void test_apart(const struct run_config *config, const struct backend *backend)
{
    struct trainer trainer;
    struct trainer_step taken;
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, NULL), ROTARY_OK) ||
        !CHECK_INT(trainer_step(&trainer, 1, &taken, NULL), ROTARY_OK))
        exit(check_report());
    const struct batch_memory *memory = &trainer.data[0].memory[0];
    const struct batch batch = trainer.data[0].batches[0];
    CHECK(batch.input.batch >= 3);
    for (int64_t watched = 0; watched < 3; watched++) {
        (void)batch_fill(memory, &(struct row_order){.task = trainer.task, .seed = SEED}, 0,
                         batch.input.batch, 1);
        const int32_t begin = memory->starts[watched], end = memory->starts[watched + 1];
        int32_t last = end - 2;
        for (int32_t i = 0; i < token_rows(&batch.input); i++)
            if (i < begin || i >= end)
                memory->classes[i] = BATCH_IGNORED;
        while (memory->classes[last] != BATCH_IGNORED) /* a word that is not to be predicted, after others */
            last--;
        const double before = loss_of(trainer.transformer, &batch);
        CHECK(before > 0);
        for (int32_t i = 0; i < token_rows(&batch.input); i++)
            if (i < begin || i >= end)
                memory->tokens[i] = 5 + (memory->tokens[i] + 3) % 20;
        CHECK(loss_of(trainer.transformer, &batch) == before);
        memory->tokens[last] = memory->tokens[last] == 5 ? 6 : 5;
        CHECK(loss_of(trainer.transformer, &batch) != before);
    }
    trainer_destroy(&trainer);
}

/* ---- validation ---- */

static struct evaluation evaluate(const struct trainer *trainer, uint64_t seed)
{
    const struct evaluation_config how = {.seed = seed, .validation_sequences = 3};
    struct evaluation evaluation = {.sample_count = 0};
    CHECK_INT(evaluation_run(trainer->task, trainer->transformer, &how, &evaluation, NULL), ROTARY_OK);
    return evaluation;
}

static void test_validation(const struct run_config *config, const struct backend *backend)
{
    struct trainer trainer;
    struct trainer_step taken;
    if (!CHECK_INT(trainer_create(&trainer, config, NULL, backend, NULL), ROTARY_OK))
        exit(check_report());
    const struct evaluation first = evaluate(&trainer, SEED), again = evaluate(&trainer, SEED),
                            other = evaluate(&trainer, SEED + 1);
    CHECK(first.loss == again.loss && first.accuracy == again.accuracy);
    CHECK(first.loss == other.loss);
    CHECK(first.loss > 1 && first.accuracy >= 0 && first.accuracy < 0.5);
    for (int step = 1; step <= 30; step++)
        CHECK_INT(trainer_step(&trainer, step, &taken, NULL), ROTARY_OK);
    CHECK(evaluate(&trainer, SEED).loss < first.loss); /* there is something to learn */
    trainer_destroy(&trainer);
}

/* ---- runs ---- */

static void test_runs(const struct run_config *config)
{
    const char *whole = new_folder("whole"), *threads = new_folder("threads"),
               *resumed = new_folder("resumed");
    struct run_config part = *config;
    train_to_end(config, 1, whole);
    train_to_end(config, 2, threads);
    for (int64_t steps = 9; steps < config->train.steps; steps += 8) {
        part.train.steps = steps;
        train_to_end(&part, 1, resumed);
    }
    train_to_end(config, 1, resumed);
    CHECK(same_file(whole, threads, "model.safetensors"));
    CHECK(same_file(whole, threads, "vocabulary.json"));
    CHECK(same_file(whole, resumed, "model.safetensors"));
    CHECK(same_file(whole, resumed, "optimizer.safetensors"));
    char *lines = timeless_metrics(whole), *other = timeless_metrics(threads);
    CHECK_TEXT(lines, other);
    free(lines);
    free(other);
}

/* An encoder is what the task wants, and no other task wants one. */
static void test_architecture(const struct run_config *config)
{
    struct run_config other = *config;
    rotary_error error = {0};
    set_option(&other, "architecture=decoder");
    CHECK_INT(run_config_check(&other, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "architecture is decoder|masked|wanted encoder");
    other = *config;
    set_option(&other, "num_labels=2");
    CHECK_INT(run_config_check(&other, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "num_labels is 2|masked|wanted 0");
    tiny_config(&other);
    set_option(&other, "architecture=encoder");
    CHECK_INT(run_config_check(&other, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "architecture is encoder|index|wanted decoder");
}

int main(void)
{
    struct run_config config;
    struct backend backend;
    masked_config(&config);
    if (CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK)) {
        test_steps(&config, &backend);
        test_gradients(&config, &backend);
        test_apart(&config, &backend);
        test_validation(&config, &backend);
        backend_destroy(&backend);
    }
    test_runs(&config);
    test_architecture(&config);
    return check_report();
}
