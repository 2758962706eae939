/* SPDX-License-Identifier: Apache-2.0
 *
 * A run on several ranks, which are threads here: it has the bits of a run on one, may go on with another number of
 * them, and what stops one stops all.
 */
#include "backend/reference_backend.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/thread_ranks.h"
#include "train/runs.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/optimizer.h"
#include "train/rank_update.h"
#include "train/together.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 12, NOBODY = -1 };
/* A model of several buckets (train/rank_update.h), some of which have sublayers alone. */
#define WIDE "hidden_size=96;intermediate_size=256;num_hidden_layers=3"

struct run {
    const struct run_config *config;
    const char *folder;
    int64_t steps;
    int stopping; /* the rank that is interrupted after step stop_step */
    int64_t stop_step;
    int failing; /* the rank whose backward passes fail */
    rotary_status status;
    atomic_bool stopped;
    char message[512];
    int64_t steps_done;
};

/* Rank 0 alone is told of steps: it stops itself, or asks another one to. */
static void watch(void *argument, const struct train_progress *progress)
{
    struct run *run = argument;
    if (progress->step == run->stop_step)
        atomic_store(&run->stopped, true);
}

static rotary_status fail_embedding_backward(const struct backend *backend,
                                             const struct backend_embedding_backward *call,
                                             rotary_error *error)
{
    (void)backend;
    (void)call;
    return rotary_fail(error, ROTARY_IO_ERROR, "broken");
}

static void train(void *argument, const struct ranks *ranks)
{
    struct run *run = argument;
    struct backend backend;
    struct run_config config = *run->config;
    const int index = ranks_index(ranks);
    const atomic_bool never = false;
    config.train.steps = run->steps;
    CHECK_INT(backend_create(&backend, 1 + index % 2, ROTARY_ISA_AUTO, (enum precision)config.train.precision,
                             NULL),
              ROTARY_OK);
    struct backend_operations broken = *backend.operations;
    broken.embedding_backward = fail_embedding_backward;
    if (index == run->failing)
        backend.operations = &broken;
    const struct train_call call = {.config = &config,
                                    .backend = &backend,
                                    .ranks = ranks,
                                    .folder = run->folder,
                                    .resume = true,
                                    .progress = watch,
                                    .argument = run,
                                    .interrupted = index == run->stopping ? &run->stopped : &never};
    struct train_result result;
    rotary_error error = {0};
    const rotary_status status = train_run(&call, &result, &error);
    if (index == 0) {
        run->status = status;
        run->steps_done = result.steps_done;
        memcpy(run->message, error.message, sizeof run->message);
    } else {
        CHECK_INT(result.steps_done, status == ROTARY_OK ? run->steps : result.steps_done);
    }
    backend_destroy(&backend);
}

static struct run run_of(const struct run_config *config, const char *folder)
{
    return (struct run){
        .config = config, .folder = folder, .steps = STEPS, .stopping = NOBODY, .failing = NOBODY};
}

static void train_on(int ranks, int64_t steps, const struct run_config *config, const char *folder)
{
    struct run run = run_of(config, folder);
    run.steps = steps;
    thread_ranks_run(ranks, train, &run);
    if (!CHECK_INT(run.status, ROTARY_OK))
        printf("%s\n", run.message);
    CHECK_INT(run.steps_done, steps);
}

static void check_same(const char *folder, const char *reference)
{
    char *lines = timeless_metrics(folder), *wanted = timeless_metrics(reference);
    CHECK(same_file(folder, reference, "model.safetensors"));
    CHECK(same_file(folder, reference, "optimizer.safetensors"));
    CHECK(same_file(folder, reference, "best.safetensors"));
    CHECK_TEXT(lines, wanted); /* with what evaluations found */
    static const char *const predicted[] = {"translations.txt", "predictions.tsv"};
    for (int i = 0; i < 2; i++)
        CHECK(!has_file(reference, predicted[i]) || same_file(folder, reference, predicted[i]));
    free(lines);
    free(wanted);
}

static void assign(struct run_config *config, const char *assignments)
{
    char text[512];
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        set_option(config, one);
}

static void config_of(struct run_config *config, const char *assignments)
{
    rotary_error error = {0};
    tiny_config(config);
    config->model.vocab_size = config->model.max_position_embeddings = 0;
    assign(config, "steps=12;shards=4;batch_size=4;attention_dropout=0.1;evaluate_every=6;log_every=4;"
                   "checkpoint_every=4;validation_sequences=6;" WIDE);
    assign(config, assignments);
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
}

static const char *folder_of(const char *name, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "%s %s", name, what);
    return scratch_path(text);
}

static void test_bits(const char *name, const char *assignments)
{
    struct run_config config;
    check_about("%s", name);
    config_of(&config, assignments);
    const char *reference = folder_of(name, "on one"), *resumed = folder_of(name, "resumed");
    train_on(1, STEPS, &config, reference);
    for (int ranks = 2; ranks <= 4; ranks *= 2) {
        char what[16];
        snprintf(what, sizeof what, "on %d", ranks);
        const char *folder = folder_of(name, what);
        train_on(ranks, STEPS, &config, folder);
        check_same(folder, reference);
    }
    train_on(4, 4, &config, resumed);
    train_on(1, 8, &config, resumed);
    train_on(2, STEPS, &config, resumed);
    CHECK(same_file(resumed, reference, "model.safetensors"));
    CHECK(same_file(resumed, reference, "optimizer.safetensors"));
    train_on(2, STEPS, &config, resumed); /* there is nothing left to do */
    run_config_free(&config);
    check_about("%s", "");
}

/* Whichever rank is interrupted, all take the same steps, and the run is saved and goes on. */
static void test_interruption(int ranks, int stopping, const char *reference)
{
    struct run_config config;
    config_of(&config, "steps=12");
    char name[64];
    snprintf(name, sizeof name, "rank %d of %d stopped", stopping, ranks);
    check_about("%s", name);
    struct run run = run_of(&config, scratch_path(name));
    run.stopping = stopping;
    run.stop_step = 6;
    thread_ranks_run(ranks, train, &run);
    CHECK_INT(run.status, ROTARY_INTERRUPTED);
    CHECK(run.steps_done >= 6 && run.steps_done < STEPS);
    CHECK(strstr(run.message, "stopped after step") != NULL);
    train_on(2, STEPS, &config, run.folder);
    check_same(run.folder, reference);
    check_about("%s", "");
    run_config_free(&config);
}

/* A rank fails in the first of its shards, on 2 ranks, or while it sums those of the last with the others, on 4: none
 * waits for another. */
static void test_failure(int ranks, int failing)
{
    struct run_config config;
    config_of(&config, "steps=12");
    char name[64], wanted[64];
    snprintf(name, sizeof name, "rank %d of %d fails", failing, ranks);
    snprintf(wanted, sizeof wanted, failing ? "rank %d on here: broken" : "broken", failing);
    struct run run = run_of(&config, scratch_path(name));
    run.failing = failing;
    thread_ranks_run(ranks, train, &run);
    CHECK_INT(run.status, ROTARY_IO_ERROR);
    CHECK_TEXT(run.message, wanted);
    run_config_free(&config);
}

static void test_divergence(void)
{
    struct run_config config;
    config_of(&config, "optimizer=adamw;weight_decay=1000;learning_rate=1e6;warmup_steps=0;steps=40");
    struct run run = run_of(&config, scratch_path("diverged"));
    run.steps = 40;
    thread_ranks_run(4, train, &run);
    CHECK_INT(run.status, ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(run.message, "diverged") != NULL);
    run_config_free(&config);
}

/* ---- refusals ---- */

static void check_refused(int ranks, const char *assignments, const char *folder, const char *message)
{
    struct run_config config;
    config_of(&config, assignments);
    struct run run = run_of(&config, folder);
    thread_ranks_run(ranks, train, &run);
    CHECK_INT(run.status, ROTARY_INVALID_ARGUMENT);
    if (!CHECK(strstr(run.message, message) != NULL))
        printf("%s\n", run.message);
    run_config_free(&config);
}

static void test_refusals(void)
{
    check_refused(3, "shards=4", scratch_path("three"),
                  "3 ranks were started: wanted a power of two, such as 2");
    check_refused(
        4, "shards=2", scratch_path("four"),
        "shards is 2, but 4 ranks were started, each of which computes a share of the shards: wanted at "
        "most 2 ranks, or for a new run --set shards=4");
    check_refused(2, "seed=5", scratch_path("index on one"), "seed");
}

/* The configuration of the last rank is another one. */
static void train_unlike(void *argument, const struct ranks *ranks)
{
    struct run other = *(struct run *)argument, *run = argument;
    struct run_config config = *run->config;
    if (ranks_index(ranks) == 0) {
        train(run, ranks);
        return;
    }
    config.train.learning_rate = 0.5;
    other.config = &config;
    train(&other, ranks);
}

static void test_unlike(void)
{
    struct run_config config;
    config_of(&config, "steps=12");
    struct run run = run_of(&config, scratch_path("unlike"));
    thread_ranks_run(2, train_unlike, &run);
    CHECK_INT(run.status, ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(run.message, "the configuration of rank 1 on here is another one") != NULL);
    CHECK(!file_exists(run.folder));
    run_config_free(&config);
}

/* ---- gradients ---- */

enum { GRADIENTS = RANKS_PIECE + 1000 }; /* more than are exchanged at a time */

/* Both kinds are tried: backends whose memory is the host's, and others. */
static void sum_gradients(void *argument, const struct ranks *ranks)
{
    const bool *on_host = argument;
    struct backend backend;
    CHECK_INT(*on_host ? backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL)
                       : reference_backend_create(&backend, ROTARY_F32, NULL),
              ROTARY_OK);
    CHECK(backend.operations->on_host == *on_host);
    struct parameters parameters = {.backend = &backend};
    const struct parameter row = {.name = "weight", .rows = GRADIENTS};
    float *numbers = malloc(GRADIENTS * sizeof *numbers), *pieces = malloc(TOGETHER_PIECES * sizeof *pieces);
    int index;
    if (!CHECK(numbers && pieces) || !CHECK_INT(parameters_add(&parameters, &row, &index, NULL), ROTARY_OK) ||
        !CHECK_INT(parameters_allocate(&parameters, true, NULL), ROTARY_OK))
        exit(check_report());
    const struct parameter_range all = parameter_range(&parameters, PARAMETER_GRADIENTS, index);
    for (int64_t i = 0; i < GRADIENTS; i++)
        numbers[i] = (float)(i % 1000 * (1 + ranks_index(ranks)));
    CHECK_INT(parameters_write(&parameters, all, numbers, NULL), ROTARY_OK);
    CHECK_INT(together_sum_gradients(ranks, &parameters, pieces, NULL), ROTARY_OK);
    CHECK_INT(parameters_read(&parameters, all, numbers, NULL), ROTARY_OK);
    const int64_t count = ranks_count(ranks), factor = count * (count + 1) / 2;
    int64_t different = 0;
    for (int64_t i = 0; i < GRADIENTS; i++)
        different += numbers[i] != (float)(i % 1000 * factor);
    CHECK_INT(different, 0);
    free(numbers);
    free(pieces);
    parameters_free(&parameters);
    backend_destroy(&backend);
}

static void test_gradients(void)
{
    for (int on_host = 0; on_host < 2; on_host++)
        for (int ranks = 2; ranks <= 4; ranks *= 2) {
            bool argument = on_host;
            thread_ranks_run(ranks, sum_gradients, &argument);
        }
}

/* ---- updates ---- */

enum { TABLE_ROWS = 6, ROW_ELEMENTS = 50000 }; /* of 19 blocks, which do not end where rows do */

static void make_table(struct parameters *parameters, const struct backend *backend)
{
    *parameters = (struct parameters){.backend = backend};
    for (int i = 0; i < TABLE_ROWS; i++) {
        struct parameter row = {.rows = ROW_ELEMENTS, .decay = i % 2, .initial = INITIAL_ONE};
        int index;
        snprintf(row.name, sizeof row.name, "row %d", i);
        CHECK_INT(parameters_add(parameters, &row, &index, NULL), ROTARY_OK);
    }
    CHECK_INT(parameters_allocate(parameters, true, NULL), ROTARY_OK);
    CHECK_INT(parameters_initialise(parameters, 1, NULL), ROTARY_OK);
}

/* The gradients of ranks first ... first + count - 1, all in small integers; that of the last element of `bad` is
 * infinite on the last rank. */
static void set_gradients(struct parameters *parameters, int64_t step, int first, int count, int bad)
{
    for (int64_t i = 0; i < parameters->gradient_elements; i++) {
        int sum = 0;
        for (int rank = first; rank < first + count; rank++)
            sum += (int)((uint32_t)(i * 7 + step * 5 + rank * 3) % 101) - 50;
        parameters->gradients[i] = (float)sum;
    }
    if (bad >= 0)
        parameters->gradients[parameters->rows[bad].gradient_offset + ROW_ELEMENTS - 1] = INFINITY;
}

static void check_bits(const float *got, const float *wanted, int64_t count)
{
    CHECK(memcmp(got, wanted, (size_t)count * sizeof *got) == 0);
}

/* A backward pass over rows 1 ... 4, which tells of them, and then over the others. In the second step it fails before
 * it begins on one rank of two, and tells of nothing on the other. */
static void sum_while_computing(struct rank_update *update, float *scratch, int index, int64_t step)
{
    static const int order[TABLE_ROWS] = {4, 3, 2, 1, 0, 5};
    const struct timespec moment = {.tv_nsec = 1000000};
    struct parameters *parameters = update->parameters;
    const size_t bytes = (size_t)parameters->gradient_elements * sizeof *parameters->gradients;
    float *computed = malloc(bytes);
    memcpy(computed, parameters->gradients, bytes);
    memset(parameters->gradients, 0, bytes);
    if (step != 2 || index % 2 == 0)
        rank_update_start_sums(update, NULL, scratch);
    for (int i = 0; i < TABLE_ROWS; i++) {
        const struct parameter *row = &parameters->rows[order[i]];
        nanosleep(&moment, NULL); /* for a thread that does not wait */
        memcpy(parameters->gradients + row->gradient_offset, computed + row->gradient_offset,
               ROW_ELEMENTS * sizeof *computed);
        if (i < 4 && step != 2)
            rank_update_complete(update, order[i]);
    }
    CHECK_INT(rank_update_finish_sums(update, scratch, NULL), ROTARY_OK);
    free(computed);
}

/* What each rank has after steps of its part is what one process has after those of everything. */
static void update_parts(void *argument, const struct ranks *ranks)
{
    const int count = ranks_count(ranks), index = ranks_index(ranks), bad = *(const int *)argument;
    struct backend backend;
    struct parameters own, alone;
    struct rank_update update;
    float *scratch = malloc(RANKS_PIECE * sizeof *scratch);
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    make_table(&own, &backend);
    make_table(&alone, &backend);
    rank_update_begin(&update, ranks, &own, (struct parameter_rows){1, 5});
    const struct optimizer optimizer = {.kind = OPTIMIZER_ADAMW,
                                        .beta1 = 0.9,
                                        .beta2 = 0.99,
                                        .epsilon = 1e-8,
                                        .weight_decay = 0.1,
                                        .max_grad_norm = 1.0};
    struct step_statistics statistics[2];
    for (int64_t step = 1; step <= 3; step++) {
        const int now = step == 3 ? bad : NOBODY;
        set_gradients(&own, step, index, 1, index == count - 1 ? now : NOBODY);
        set_gradients(&alone, step, 0, count, now);
        sum_while_computing(&update, scratch, index, step);
        CHECK_INT(optimizer_step(&optimizer, &own, step, 0.1, NULL), ROTARY_OK);
        CHECK_INT(optimizer_step(&optimizer, &alone, step, 0.1, NULL), ROTARY_OK);
        CHECK_INT(parameters_read_statistics(&own, &statistics[0], NULL), ROTARY_OK);
        CHECK_INT(parameters_read_statistics(&alone, &statistics[1], NULL), ROTARY_OK);
        CHECK(memcmp(&statistics[0], &statistics[1], sizeof *statistics) == 0);
        CHECK(statistics[0].diverged == (now != NOBODY));
        CHECK_INT(rank_update_gather(&update, statistics[0].diverged != 0, NULL), ROTARY_OK);
        check_bits(own.values, alone.values, own.elements);
        check_bits(own.gradients, alone.gradients, own.gradient_elements);
    }
    float moment;
    const struct parameter_range one = {.array = PARAMETER_MOMENT2, .index = 1, .count = 1};
    CHECK_INT(parameters_read(&own, one, &moment, NULL), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(rank_update_collect_moments(&update, NULL), ROTARY_OK);
    CHECK_INT(parameters_read(&own, one, &moment, NULL), ROTARY_OK);
    if (index == 0) {
        check_bits(own.moment1, alone.moment1, own.trained_elements);
        check_bits(own.moment2, alone.moment2, own.trained_elements);
    }
    rank_update_end(&update);
    parameters_free(&own);
    parameters_free(&alone);
    backend_destroy(&backend);
    free(scratch);
}

static void test_updates(void)
{
    for (int ranks = 2; ranks <= 16; ranks *= 2) /* of 16 some have nothing */
        for (int bad = NOBODY; bad < TABLE_ROWS; bad += 2) {
            int argument = bad;
            thread_ranks_run(ranks, update_parts, &argument);
        }
}

int main(void)
{
    test_gradients();
    test_updates();
    test_bits("index", "steps=12");
    test_bits("pairs",
              "task=translation;translation_pairs=40;translation_held_out=5;architecture=encoder_decoder;"
              "sequence_length=32;batch_tokens=90;problems=2");
    test_bits("labels", "task=classification;classification_examples=40;classification_held_out=4;"
                        "architecture=encoder;sequence_length=48");
    test_bits("text", "task=language;language_documents=20;language_held_out=4;sequence_length=48");
    CHECK(has_file(folder_of("pairs", "on 4"), "translations.txt"));
    CHECK(has_file(folder_of("labels", "on 4"), "predictions.tsv"));
    for (int ranks = 2; ranks <= 4; ranks *= 2)
        for (int stopping = 0; stopping < ranks; stopping += ranks - 1)
            test_interruption(ranks, stopping, scratch_path("index on one"));
    char adapted[512];
    snprintf(adapted, sizeof adapted, "lora_rank=2;init=%s", scratch_path("index on one"));
    test_bits("adapted", adapted);
    for (int ranks = 2; ranks <= 4; ranks *= 2)
        for (int failing = 0; failing < ranks; failing += ranks - 1)
            test_failure(ranks, failing);
    test_divergence();
    test_refusals();
    test_unlike();
    return check_report();
}
