/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps as graphs on a CUDA device, which is emulated: parameters and measurements have the same bits as without,
 * whatever interrupts a step, and what graphs there are is counted. A copy on the emulated device is done as late
 * as may be, and so is a graph.
 */
#include "cuda/cuda_backend.h"
#include "emulated_streams.h"
#include "support/check.h"
#include "train/runs.h"
#include "train/trainer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 7 };

struct run {
    const struct run_config *config;
    bool graphs;
    int64_t evaluated_after; /* the step after which other batches go through the model; 0: none */
    struct trainer_step steps[STEPS];
    float *values;
    int64_t count;
};

static void configure(struct run_config *config, const char *const settings[])
{
    rotary_error error = {0};
    run_config_default(config);
    for (int i = 0; settings[i]; i++)
        set_option(config, settings[i]);
    config->task.sequence_length = 16;
    tiny_model(config, 1);
    config->train.steps = STEPS;
    config->train.batch_size = 2;
    config->train.learning_rate = 5e-3;
    config->train.warmup_steps = 3;
    config->train.validation_sequences = 2;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

static void read_values(const struct parameters *parameters, struct run *run)
{
    run->count = parameters_total(parameters);
    run->values = malloc((size_t)run->count * sizeof *run->values);
    if (!run->values)
        abort();
    float *to = run->values;
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter_range range = parameter_range(parameters, PARAMETER_VALUES, i);
        CHECK_INT(parameters_read(parameters, range, to, NULL), ROTARY_OK);
        to += range.count;
    }
}

/* Another pass between two steps, over the batch of the step before, without gradients. */
static void evaluate(struct trainer *trainer, int64_t step)
{
    struct loss_sums sums = {0};
    const struct transformer_call call = {.batch = &trainer->data[step % 2].batches[0]};
    CHECK_INT(transformer_run(trainer->transformer, &call, &sums, NULL), ROTARY_OK);
    CHECK(sums.counted > 0);
}

static void take_steps(struct run *run, const struct backend *backend)
{
    struct trainer trainer;
    rotary_error error = {0};
    if (!CHECK_INT(trainer_create(&trainer, run->config, NULL, backend, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
    for (int64_t i = 1; i <= STEPS; i++) {
        if (!CHECK_INT(trainer_step(&trainer, i, &run->steps[i - 1], &error), ROTARY_OK))
            printf("%s\n", error.message);
        if (i == run->evaluated_after)
            evaluate(&trainer, i);
    }
    read_values(transformer_parameters(trainer.transformer), run);
    trainer_destroy(&trainer);
}

static void *work(void *argument)
{
    struct run *run = argument;
    struct backend backend;
    CHECK_INT(cuda_backend_create(&backend, 1, rotary_isa_best(), PRECISION_F32, NULL), ROTARY_OK);
    struct backend_operations without = *backend.operations;
    const struct backend_operations *const table = backend.operations;
    without.step_begin = NULL;
    without.step_end = NULL;
    without.stage = NULL;
    if (!run->graphs)
        backend.operations = &without;
    take_steps(run, &backend);
    backend.operations = table;
    backend_destroy(&backend);
    return NULL;
}

static void check_same(const struct run *a, const struct run *b)
{
    for (int i = 0; i < STEPS; i++) {
        CHECK(a->steps[i].loss.counted > 0 && !a->steps[i].diverged);
        CHECK(a->steps[i].loss.total == b->steps[i].loss.total);
        CHECK(a->steps[i].gradient_norm == b->steps[i].gradient_norm);
        CHECK(a->steps[i].learning_rate == b->steps[i].learning_rate);
    }
    CHECK_INT(a->count, b->count);
    CHECK(memcmp(a->values, b->values, (size_t)a->count * sizeof *a->values) == 0);
}

/* `launches`: of graphs, in STEPS steps; `updates`: the most nodes that differ from one to the next. */
static void test_graphs(const char *about, const char *const settings[], int64_t evaluated_after,
                        int64_t launches, int64_t updates)
{
    struct run_config config;
    configure(&config, settings);
    struct run with = {.config = &config, .graphs = true, .evaluated_after = evaluated_after},
               without = {.config = &config, .evaluated_after = evaluated_after};
    check_about("%s", about);
    const struct emulated_graph_counts before = emulated_graph_counted();
    work(&with);
    const struct emulated_graph_counts after = emulated_graph_counted();
    work(&without);
    check_same(&with, &without);
    CHECK_INT((int64_t)(after.launches - before.launches), launches);
    CHECK_INT((int64_t)emulated_graph_counted().launches, (int64_t)after.launches);
    CHECK(launches == 0 || after.updates > before.updates); /* the learning rate at least */
    if (!CHECK((int64_t)(after.updates - before.updates) <= launches * updates))
        printf("%d graphs, %d updates\n", (int)(after.launches - before.launches),
               (int)(after.updates - before.updates));
    free(with.values);
    free(without.values);
    run_config_free(&config);
    check_about("%s", "");
}

/* ---- The backend's functions, without a trainer. ---- */

enum { NUMBERS = 6 };

static float *allocate(const struct backend *backend, int64_t count)
{
    void *memory = NULL;
    CHECK_INT(backend->operations->allocate(backend, &memory, (size_t)count * sizeof(float), "a test", NULL),
              ROTARY_OK);
    return memory;
}

static float first_of(const struct backend *backend, const float *memory)
{
    float number = -1.0f;
    CHECK_INT(backend->operations->read(backend, &number, memory, sizeof number, NULL), ROTARY_OK);
    return number;
}

/* to = 2 number, in one step; `other` calls more, or reads. */
static void take_step(const struct backend *backend, float *scratch, float *to, float number, int other)
{
    const struct backend_operations *operations = backend->operations;
    CHECK_INT(operations->step_begin(backend, 7, NULL), ROTARY_OK);
    CHECK_INT(operations->write(backend, scratch, &number, sizeof number, NULL), ROTARY_OK);
    const struct backend_scale scale = {.to = scratch, .count = 1, .factor = 2.0f};
    CHECK_INT(operations->scale(backend, &scale, NULL), ROTARY_OK);
    if (other == 1)
        CHECK_INT(operations->clear(backend, to, sizeof *to, NULL), ROTARY_OK);
    if (other == 2)
        CHECK(first_of(backend, scratch) == 2.0f * number);
    CHECK_INT(operations->copy(backend, to, scratch, sizeof *to, NULL), ROTARY_OK);
    CHECK_INT(operations->step_end(backend, NULL), ROTARY_OK);
}

/* Nobody waits between the steps: what a graph has yet to read may not be overwritten. */
static void test_items(const struct backend *backend, int other)
{
    float *scratch = allocate(backend, 1), *made = allocate(backend, NUMBERS);
    check_about("items, other %d", other);
    for (int i = 0; i < NUMBERS; i++)
        take_step(backend, scratch, made + i, (float)(i + 1), i == 3 ? other : 0);
    for (int i = 0; i < NUMBERS; i++)
        CHECK(first_of(backend, made + i) == 2.0f * (float)(i + 1));
    backend->operations->release(backend, scratch);
    backend->operations->release(backend, made);
}

/* What was staged is what is written, though the slot is staged again before anybody waits. */
static void test_staged(const struct backend *backend)
{
    const struct backend_operations *operations = backend->operations;
    float *made = allocate(backend, NUMBERS), host[2] = {-1.0f, -1.0f};
    check_about("staged");
    for (int i = 0; i < NUMBERS; i++) {
        host[1] = (float)i;
        CHECK_INT(operations->stage(backend, i % 2, host, sizeof host, NULL), ROTARY_OK);
        CHECK_INT(operations->write(backend, made + i, host + 1, sizeof *host, NULL), ROTARY_OK);
        CHECK_INT(operations->stage(backend, i % 2, NULL, 0, NULL), ROTARY_OK);
        host[1] = -1.0f;
    }
    for (int i = 0; i < NUMBERS; i++)
        CHECK(first_of(backend, made + i) == (float)i);
    host[1] = 9.0f; /* nothing of it is staged any more */
    CHECK_INT(operations->write(backend, made, host + 1, sizeof *host, NULL), ROTARY_OK);
    CHECK(first_of(backend, made) == 9.0f);
    operations->release(backend, made);
}

static void test_backend(void)
{
    struct backend backend;
    for (int other = 0; other < 3; other++) {
        CHECK_INT(cuda_backend_create(&backend, 1, rotary_isa_best(), PRECISION_F32, NULL), ROTARY_OK);
        test_items(&backend, other);
        test_staged(&backend);
        backend_destroy(&backend);
    }
}

/* Runs side by side have streams and graphs of their own. */
static void test_side_by_side(const char *const settings[])
{
    struct run_config config;
    struct run runs[3] = {{.graphs = true}, {.graphs = true}, {.graphs = false}};
    pthread_t threads[3];
    configure(&config, settings);
    check_about("side by side");
    for (int i = 0; i < 3; i++) {
        runs[i].config = &config;
        CHECK_INT(pthread_create(&threads[i], NULL, work, &runs[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check_same(&runs[0], &runs[1]);
    check_same(&runs[0], &runs[2]);
    for (int i = 0; i < 3; i++)
        free(runs[i].values);
    run_config_free(&config);
}

int main(void)
{
    test_backend();
    static const char *const prefix[] = {
        "task=prefix",    "prefix_letters=4", "prefix_random=2",       "prefix_substring=4",
        "position=roper", "dropout=0.1",      "attention_dropout=0.1", NULL};
    static const char *const micro[] = {"task=prefix",       "prefix_letters=4",
                                        "prefix_random=2",   "prefix_substring=4",
                                        "position=rope",     "gradient_accumulation_steps=2",
                                        "optimizer=adamw",   "weight_decay=0.1",
                                        "hidden_act=swiglu", NULL};
    static const char *const reads[] = {"task=prefix",        "prefix_letters=4", "prefix_random=2",
                                        "prefix_substring=4", "position=t5",      NULL};
    static const char *const packed[] = {"task=translation",       "translation_pairs=31",
                                         "translation_held_out=5", "architecture=encoder_decoder",
                                         "position=roper",         NULL};
    /* The first step of a shape runs as it comes, the second is kept. An evaluation packs the weights that the next
     * step has. Batches are copied from one of two places, with targets, and there is the learning rate. */
    test_graphs("prefix", prefix, 0, STEPS - 2, 20);
    test_graphs("prefix, an evaluation between two steps", prefix, 4, STEPS - 3, 20);
    test_graphs("prefix, two micro-batches", micro, 0, STEPS - 2, 7);
    test_graphs("prefix, a step that reads", reads, 0, 0, 0);
    test_graphs("translation, other shapes each step", packed, 0, 0, 0);
    test_side_by_side(prefix);
    return check_report();
}
