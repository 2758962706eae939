/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of tiny models: order, resuming, what pairs share, what is refused.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "records/collection.h"
#include "run_folder/folder.h"
#include "study/comparison_run.h"
#include "train/folder/checkpoint.h"
#include "train/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct backend backend;

static struct run_config small_config(void)
{
    struct run_config config;
    run_config_default(&config);
    config.task.task = TASK_INDEX;
    config.task.sequence_length = 48;
    config.task.problems = 4;
    config.model.hidden_size = 16;
    config.model.num_hidden_layers = 1;
    config.model.num_attention_heads = 2;
    config.train.steps = 6;
    config.train.batch_size = 2;
    config.train.evaluate_every = 3;
    config.train.checkpoint_every = 0;
    config.train.log_every = 1;
    config.train.validation_sequences = 2;
    return config;
}

/* Arms of a key, or of two; the caller frees them. */
static struct arms arms_of(const char *key, const char *values, const char *second, const char *more)
{
    struct arms arms;
    rotary_error error = {0};
    bool made = CHECK_INT(arms_create(&arms, &error), ROTARY_OK) &&
                CHECK_INT(arms_vary(&arms, &(struct arm_axis){"--vary", key, values}, &error), ROTARY_OK) &&
                (!second ||
                 CHECK_INT(arms_vary(&arms, &(struct arm_axis){"--vary", second, more}, &error), ROTARY_OK));
    if (!made)
        printf("    %s\n", error.message);
    return arms;
}

static struct arms rope_and_roper;
static const int64_t seeds[] = {5, 6, 7, 8};

/* What progress calls reported, and when to interrupt. */
struct observed {
    int calls, found, last_run; /* found: runs that were finished before */
    int64_t first_step;         /* of run `stop_run` */
    int64_t diverged;           /* the step of the last run that did */
    char order[256];            /* "rope-5 roper-5 ..." */
    int stop_run;
    int64_t stop_step;
    atomic_bool interrupted;
};

static void observe(void *argument, const struct run_progress *progress)
{
    struct observed *observed = argument;
    observed->calls++;
    if (progress->run != observed->last_run) {
        size_t length = strlen(observed->order);
        snprintf(observed->order + length, sizeof observed->order - length, "%s-%lld ", progress->arm,
                 (long long)progress->seed);
        observed->last_run = progress->run;
        if (progress->run == observed->stop_run && progress->train)
            observed->first_step = progress->train->step;
    }
    if (!progress->train) {
        observed->found++;
        observed->diverged = progress->diverged ? progress->diverged : observed->diverged;
        return;
    }
    if (progress->run == observed->stop_run && progress->train->step == observed->stop_step)
        atomic_store(&observed->interrupted, true);
}

static struct compare_call call_of(const struct run_config *config, const char *place,
                                   struct observed *observed)
{
    *observed = (struct observed){0};
    return (struct compare_call){.plan = {.config = config,
                                          .arms = &rope_and_roper,
                                          .seeds = seeds,
                                          .seed_count = 2,
                                          .folder = place,
                                          .command = "rotary compare index"},
                                 .backend = &backend,
                                 .progress = observe,
                                 .argument = observed,
                                 .interrupted = &observed->interrupted};
}

static void check_status(const struct compare_call *call, rotary_status wanted, const char *words)
{
    rotary_error error = {0};
    bool good = CHECK_INT(comparison_run(call, &error), wanted);
    if (!(wanted == ROTARY_OK || CHECK(strstr(error.message, words) != NULL)) || !good)
        printf("    %s\n", error.message);
}

static void check_finished(const char *place)
{
    struct run_config config = small_config();
    struct observed observed;
    check_about("a comparison");
    struct compare_call call = call_of(&config, place, &observed);
    check_status(&call, ROTARY_OK, "");
    CHECK_TEXT(observed.order, "rope-5 roper-5 rope-6 roper-6 "); /* seed by seed */
    CHECK_INT(observed.calls, 4 * 6);

    struct collection collection = synthetic_read(place);
    CHECK_INT(collection.comparison->arms[1].run_count, 2);
    CHECK_INT(collection.comparison->contrasts[0].difference[MEASURE_VALIDATION_LOSS].count, 2);
    CHECK_INT(collection.comparison->problems, 4);
    CHECK_INT(collection.records[0].point_count, 6);
    CHECK_INT(collection.records[0].evaluation_count, 2);
    const json_t *commands = json_object_get(collection.description, "commands");
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(commands, 0), "command")),
               "rotary compare index");
    collection_free(&collection);

    check_about("the same comparison again");
    call = call_of(&config, place, &observed);
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(observed.found, 4);
    CHECK_INT(observed.calls, 4);

    check_about("one more seed");
    call = call_of(&config, place, &observed);
    call.plan.seed_count = 3;
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(observed.found, 4);
    CHECK_INT(observed.calls, 4 + 2 * 6);
}

static void check_interrupted(const char *finished, const char *place)
{
    struct run_config config = small_config();
    struct observed observed;
    check_about("interrupted in the third run");
    struct compare_call call = call_of(&config, place, &observed);
    observed.stop_run = 3;
    observed.stop_step = 4;
    check_status(&call, ROTARY_INTERRUPTED, "interrupted in run 3 of 4, rope-6; the same command resumes it");
    CHECK_TEXT(observed.order, "rope-5 roper-5 rope-6 ");
    check_about("resumed");
    call = call_of(&config, place, &observed);
    observed.stop_run = 3; /* for first_step; there is no step 0 to stop at */
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(observed.found, 2);
    CHECK_INT(observed.first_step, 5);
    static const char *const runs[] = {"rope-5", "roper-5", "rope-6", "roper-6"};
    for (int i = 0; i < 4; i++)
        CHECK(same_file(synthetic_path(finished, runs[i]), synthetic_path(place, runs[i]),
                        "model.safetensors"));
    CHECK(!same_file(synthetic_path(finished, runs[0]), synthetic_path(finished, runs[1]),
                     "model.safetensors"));
}

/* What was estimated, and what jobs trained how much. */
static void note_estimate(void *argument, const struct run_list_estimate *estimate)
{
    struct run_list_estimate *noted = argument;
    *noted = *estimate;
}

struct side_by_side {
    struct run_list_estimate estimate; /* first: the argument of note_estimate */
    int steps[4], jobs, max_done;
    atomic_bool interrupted;
    int stop_step; /* of any run; 0: none */
};

static void note_jobs(void *argument, const struct run_progress *progress)
{
    struct side_by_side *noted = argument;
    noted->jobs = progress->jobs;
    noted->steps[progress->job] += progress->train != NULL;
    noted->max_done = progress->done > noted->max_done ? progress->done : noted->max_done;
    if (progress->train && progress->train->step == noted->stop_step && !atomic_load(&noted->interrupted)) {
        const struct timespec until_seen = {.tv_nsec =
                                                300000000}; /* meanwhile the other runs wait to report */
        atomic_store(&noted->interrupted, true);
        nanosleep(&until_seen, NULL);
    }
}

static bool same_runs(const char *place, const char *other)
{
    static const char *const runs[] = {"rope-5", "roper-5", "rope-6", "roper-6"};
    bool same = true;
    for (int i = 0; i < 4; i++)
        same &=
            same_file(synthetic_path(place, runs[i]), synthetic_path(other, runs[i]), "model.safetensors");
    return same;
}

/* Results are those of one job; an interruption saves the runs of all jobs, and more are asked for than
 * threads there are. */
static void check_jobs(const char *finished, const char *place)
{
    struct run_config config = small_config();
    struct observed unused;
    struct side_by_side noted = {.stop_step = 4};
    struct backend three;
    CHECK_INT(backend_create(&three, 3, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    struct compare_call call = call_of(&config, place, &unused);
    call.backend = &three;
    call.jobs = 16;
    call.estimated = note_estimate;
    call.progress = note_jobs;
    call.argument = &noted;
    call.interrupted = &noted.interrupted;
    check_about("three jobs, interrupted");
    check_status(&call, ROTARY_INTERRUPTED, "interrupted");
    CHECK_INT(noted.jobs, 3);
    CHECK_INT(noted.estimate.estimate.jobs, 3);
    CHECK_INT(noted.estimate.work.runs, 4);
    CHECK_INT(noted.estimate.work.steps, 6);
    CHECK_INT(noted.estimate.work.evaluations, 2);
    CHECK_INT(noted.max_done, 0);
    int begun = 0, saved = 0;
    static const char *const runs[] = {"rope-5", "roper-5", "rope-6"};
    for (int i = 0; i < 3; i++) {
        begun += noted.steps[i] > 0;
        saved += has_file(synthetic_path(place, runs[i]), "model.safetensors");
    }
    CHECK(saved >= begun && begun > 0);
    check_about("three jobs, resumed");
    struct side_by_side resumed = {.stop_step = 0};
    call.argument = &resumed;
    call.interrupted = &resumed.interrupted;
    check_status(&call, ROTARY_OK, "");
    CHECK(resumed.estimate.work.steps < 6);
    CHECK(same_runs(finished, place));
    check_about("all are finished");
    struct side_by_side last = {.stop_step = 0};
    call.argument = &last;
    call.interrupted = &last.interrupted;
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(last.estimate.work.runs, 0); /* nothing was measured */
    CHECK_INT(last.steps[0], 0);
    backend_destroy(&three);
    check_about("%s", "");
}

/* RoPER that rotates no value channel is RoPE: from the same weights, on the same data, both train alike. */
static void check_shared(const char *place)
{
    struct run_config config = small_config();
    config.model.value_fraction = 0;
    struct observed observed;
    check_about("RoPER without its rotation");
    struct compare_call call = call_of(&config, place, &observed);
    call.plan.seed_count = 3;
    check_status(&call, ROTARY_OK, "");
    struct collection collection = synthetic_read(place);
    const struct comparison_arm *roper = &collection.comparison->arms[1];
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(collection.comparison->contrasts[0].differences[MEASURE_VALIDATION_LOSS][i], 0, 0);
    CHECK(roper->values[MEASURE_VALIDATION_LOSS][0] != roper->values[MEASURE_VALIDATION_LOSS][1]);
    CHECK(!collection.comparison->contrasts[0].judged); /* three pairs */
    collection_free(&collection);
}

/* Makes all weights in a run's checkpoint NaN. */
static void poison(const struct run_config *config, const char *run)
{
    struct transformer *transformer;
    struct checkpoint checkpoint;
    rotary_error error = {0};
    struct transformer_limits limits = {config->train.batch_size, config->task.sequence_length,
                                        .training = true};
    struct run_config settled = *config;
    settled.train.precision = PRECISION_F32;
    CHECK_INT(run_config_check(&settled, &error), ROTARY_OK);
    CHECK_INT(transformer_create(&transformer, &backend, &settled.model, limits, 1, &error), ROTARY_OK);
    if (!CHECK_INT(checkpoint_open(&checkpoint, run, &settled, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    struct parameters *parameters = transformer_parameters(transformer);
    CHECK_INT(checkpoint_load(&checkpoint, parameters, &error), ROTARY_OK);
    struct checkpoint_state state = checkpoint.state;
    checkpoint_close(&checkpoint);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int64_t i = 0; i < parameters->elements; i++)
        values[i] = NAN;
    parameter_give(parameters, PARAMETER_VALUES, values);
    CHECK_INT(checkpoint_write(run, &settled, parameters, &state, &error), ROTARY_OK);
    transformer_destroy(transformer);
}

/* A comparison is resumed with more steps and another log_every. One run diverges, the others finish. */
static void check_longer(const char *place)
{
    struct run_config config = small_config();
    struct observed observed;
    check_about("a comparison of 6 steps");
    struct compare_call call = call_of(&config, place, &observed);
    call.plan.seed_count = 4;
    check_status(&call, ROTARY_OK, "");
    struct run_config poisoned = config;
    poisoned.model.position = POSITION_ROPER;
    poisoned.train.seed = 6;
    poison(&poisoned, synthetic_path(place, "roper-6"));

    check_about("resumed with 9 steps");
    config.train.steps = 9;
    config.train.log_every = 2;
    config.train.checkpoint_every = 4;
    call = call_of(&config, place, &observed);
    call.plan.seed_count = 4;
    observed.stop_run = 1;
    observed.stop_step = 8;
    check_status(&call, ROTARY_INTERRUPTED, "interrupted in run 1 of 8");
    CHECK_INT(observed.first_step, 7);
    struct collection collection = synthetic_read(place);
    CHECK_INT(collection.comparison->unfinished, 8); /* their configurations say 6 steps, compare.json 9 */
    collection_free(&collection);

    call = call_of(&config, place, &observed);
    call.plan.seed_count = 4;
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(observed.found, 1);
    CHECK_INT(observed.diverged, 7);
    CHECK_TEXT(observed.order, "rope-5 roper-5 rope-6 roper-6 rope-7 roper-7 rope-8 roper-8 ");
    call = call_of(&config, place, &observed);
    call.plan.seed_count = 4;
    check_status(&call, ROTARY_OK, "");
    CHECK_INT(observed.found, 8);
    CHECK_INT(observed.calls, 8);

    collection = synthetic_read(place);
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison->unfinished, 0);
    CHECK_INT(comparison->diverged, 1);
    CHECK_INT(comparison->arms[0].run_count, 4);
    CHECK_INT(comparison->arms[1].run_count, 3);
    CHECK_INT(comparison->contrasts[0].difference[MEASURE_VALIDATION_LOSS].count, 4);
    CHECK_INT(comparison->arms[1].diverged_count, 1);
    const struct record *diverged = &collection.records[comparison->arms[1].runs[3]];
    CHECK_INT(diverged->seed, 6);
    CHECK_INT(diverged->diverged, 7);
    collection_free(&collection);

    check_about("what may not change");
    config.train.steps = 8;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "compares runs of 9 steps, got 8: wanted as many or more");
    config.train.steps = 9;
    config.train.warmup_steps = 3;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "warmup_steps is 0 in ");
    config = small_config();
    config.train.schedule = SCHEDULE_LINEAR;
    call = call_of(&config, scratch_path("linear"), &observed);
    check_status(&call, ROTARY_OK, "");
    config.train.steps = 7;
    check_status(&call, ROTARY_INVALID_ARGUMENT,
                 "the learning rate of a linear schedule depends on the number of steps");
}

static void check_refused(const char *finished)
{
    struct run_config config = small_config();
    struct observed observed;
    check_about("what is refused");
    struct compare_call call = call_of(&config, finished, &observed);
    config.train.learning_rate *= 2;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "learning_rate");
    config = small_config();
    config.train.evaluate_every = 2;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "evaluate_every is 3 in ");
    config = small_config();
    call.plan.seed_count = 0;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "there are no seeds");
    call.plan.seed_count = 2;
    struct arms norms = arms_of("norm", "layer_norm,rms_norm", NULL, NULL);
    call.plan.arms = &norms;
    check_status(&call, ROTARY_INVALID_ARGUMENT, "compares values of position: wanted the same keys");
    arms_free(&norms);

    check_about("while another process compares there");
    config.train.steps = 9;
    call = call_of(&config, finished, &observed);
    int lock;
    rotary_error error = {0};
    CHECK_INT(folder_lock(finished, &lock, &error), ROTARY_OK);
    check_status(&call, ROTARY_IO_ERROR, "another process is training in");
    folder_unlock(lock);
    config = small_config();
    call.plan.seed_count = 3;
    check_status(&call, ROTARY_OK, ""); /* the call that was refused wrote no compare.json of 9 steps */
    CHECK_INT(observed.found, 6);

    check_about("what is refused elsewhere");
    const char *place = scratch_path("odd");
    call = call_of(&config, place, &observed);
    config.model.value_fraction = 0.4; /* 3 of 8 channels: allowed for RoPE */
    check_status(&call, ROTARY_INVALID_ARGUMENT, "value_fraction");
    CHECK(!file_exists(place));
    config = small_config();
    call.plan.seeds = (const int64_t[]){9007199254740991, 9007199254740992}; /* the second is one too many */
    check_status(&call, ROTARY_INVALID_ARGUMENT,
                 "\"seed\" is 9007199254740992, wanted a whole number from 0 to 9007199254740991");
    CHECK(!file_exists(place));
    call.plan.seeds = seeds;
    config.train.batch_size = 1 << 20;
    check_status(&call, ROTARY_OUT_OF_MEMORY, "rope-5: ");
    config = small_config();

    call = call_of(&config, synthetic_path(finished, "rope-5"), &observed);
    check_status(&call, ROTARY_INVALID_ARGUMENT, "holds a single run");
    call.plan.folder = synthetic_path(finished, "rope-5/config.json"); /* a file */
    check_status(&call, ROTARY_IO_ERROR, "config.json");
    call.plan.folder = scratch_path("other");
    synthetic_write(call.plan.folder, "compare.json", "{\"format\":1}");
    check_status(&call, ROTARY_BAD_FILE, "has format 1, of another version");
    CHECK_INT(observed.calls, 0);
}

/* Steps so slow that a failure elsewhere is seen between them. */
static void slow_step(void *argument, const struct run_progress *progress)
{
    struct side_by_side *noted = argument;
    const struct timespec pause = {.tv_nsec = 100000000};
    noted->steps[progress->job] += progress->train != NULL;
    nanosleep(&pause, NULL);
}

/* A run that fails stops the one beside it, which is saved; none other begins. */
static void check_failing_job(const char *finished, const char *place)
{
    struct run_config config = small_config();
    struct observed unused;
    struct side_by_side noted = {.stop_step = 0};
    struct backend two;
    CHECK_INT(backend_create(&two, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    struct compare_call call = call_of(&config, place, &unused);
    call.backend = &two;
    call.jobs = 2;
    call.progress = slow_step;
    call.argument = &noted;
    synthetic_write(place, "roper-5", "no folder");
    check_about("one of two jobs fails");
    check_status(&call, ROTARY_IO_ERROR, "roper-5 is a file, wanted a run's folder");
    CHECK(noted.steps[0] + noted.steps[1] < 6);
    CHECK(has_file(synthetic_path(place, "rope-5"), "model.safetensors") || noted.steps[0] == 0);
    CHECK(!has_file(synthetic_path(place, "rope-6"), "config.json"));
    check_about("the failure is mended");
    CHECK_INT(remove(synthetic_path(place, "roper-5")), 0);
    check_status(&call, ROTARY_OK, "");
    CHECK(same_runs(finished, place));
    backend_destroy(&two);
    check_about("%s", "");
}

int main(void)
{
    rotary_error error = {0};
    if (!CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        return check_report();
    rope_and_roper = arms_of("position", "rope,roper", NULL, NULL);
    const char *finished = scratch_path("finished");
    check_finished(finished);
    check_interrupted(finished, scratch_path("interrupted"));
    check_jobs(finished, scratch_path("jobs"));
    check_failing_job(finished, scratch_path("failing"));
    check_shared(scratch_path("shared"));
    check_longer(scratch_path("longer"));
    check_refused(finished);
    arms_free(&rope_and_roper);
    backend_destroy(&backend);
    return check_report();
}
