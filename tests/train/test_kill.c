/* SPDX-License-Identifier: Apache-2.0
 *
 * Resuming is bit-exact: a run that is killed at any moment, any number of times, and resumed, ends with the
 * same bytes as an uninterrupted one. So does a run that is interrupted, and one killed between the renames
 * of a checkpoint.
 *
 *     test_kill           one round, and moments of every kind
 *     test_kill 20        twenty other rounds, and the other moments of a run
 *
 * Child processes train: a process that has run threads cannot fork one that runs threads.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/random.h"
#include "file/safetensors.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, SIGNALS = 6, STEPS_BETWEEN = 12 };
enum { CHILD_DONE, CHILD_INTERRUPTED, CHILD_FAILED };

static struct rotary_random chance = {.key = {.seed = 1, .stream = ROTARY_STREAM_TEST}};

/* Memory shared by parent and child. */
static struct {
    _Atomic int64_t step;    /* the last one the child did */
    _Atomic int64_t started; /* the first one the child did */
    _Atomic int64_t moments; /* passed by the child: one before and one after every change of a file */
    _Atomic int64_t dies_at; /* moment at which the child kills itself; 0: none */
} * shared;

#define TURNING_LOSS 3.4 /* between the validation losses at steps 40 and 60 of the tiny run */

/* The linker's --wrap redirects the library's calls to these. */
rotary_status __real_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error);
rotary_status __wrap_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error);
rotary_status __real_file_rename(const char *from, const char *to, rotary_error *error);
rotary_status __wrap_file_rename(const char *from, const char *to, rotary_error *error);
rotary_status __real_safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                       const json_t *metadata, rotary_error *error);
rotary_status __wrap_safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                       const json_t *metadata, rotary_error *error);

static void pass_moment(void)
{
    if (atomic_fetch_add(&shared->moments, 1) + 1 == atomic_load(&shared->dies_at))
        raise(SIGKILL);
}

rotary_status __wrap_file_rename(const char *from, const char *to, rotary_error *error)
{
    pass_moment();
    rotary_status status = __real_file_rename(from, to, error);
    pass_moment();
    return status;
}

rotary_status __wrap_safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                       const json_t *metadata, rotary_error *error)
{
    pass_moment();
    rotary_status status = __real_safetensors_write(path, tensors, count, metadata, error);
    pass_moment();
    return status;
}

/* A validation loss that falls, then rises: the best checkpoint is not the last. */
rotary_status __wrap_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error)
{
    rotary_status status = __real_evaluation_run(task, transformer, config, evaluation, error);
    evaluation->loss = fabs(evaluation->loss - TURNING_LOSS);
    return status;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void sleep_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static atomic_bool interrupted;

static void interrupt(int signal)
{
    (void)signal;
    atomic_store(&interrupted, true);
}

static void note_step(void *argument, const struct train_progress *progress)
{
    (void)argument;
    if (atomic_load(&shared->started) < 0)
        atomic_store(&shared->started, progress->step);
    atomic_store(&shared->step, progress->step);
}

/* Trains in a child process, which SIGTERM interrupts. */
static pid_t start_child(const struct run_config *config, const char *folder)
{
    atomic_store(&shared->step, -1);
    atomic_store(&shared->started, -1);
    atomic_store(&shared->moments, 0);
    fflush(stdout);
    signal(SIGTERM, interrupt);
    pid_t child = fork();
    if (child != 0) {
        signal(SIGTERM, SIG_DFL);
        return child;
    }
    struct backend backend;
    struct train_result result;
    rotary_error error = {0};
    rotary_status status =
        backend_create(&backend, THREADS, ROTARY_ISA_AUTO, (enum precision)config->train.precision, &error);
    struct train_call call = {.config = config,
                              .backend = &backend,
                              .folder = folder,
                              .resume = true,
                              .progress = note_step,
                              .interrupted = &interrupted};
    if (status == ROTARY_OK)
        status = train_run(&call, &result, &error);
    if (status == ROTARY_OK)
        _exit(CHILD_DONE);
    if (status == ROTARY_INTERRUPTED)
        _exit(CHILD_INTERRUPTED);
    printf("child: %s\n", error.message);
    fflush(stdout);
    _exit(CHILD_FAILED);
}

/* The child's exit status; -1 if it was killed. */
static int exit_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void finish(const struct run_config *config, const char *folder)
{
    int status = 0;
    pid_t child = start_child(config, folder);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(exit_of(status), CHILD_DONE);
}

/* Sends signal `number` a random time within a random step after the child's first; one time in four, before
 * the first. Returns the exit status. */
static int signal_at_some_moment(pid_t child, int number)
{
    int64_t steps = rotary_random_below(&chance, STEPS_BETWEEN);
    double share = (double)rotary_random_below(&chance, 1000) / 1000.0;
    if (rotary_random_below(&chance, 4) == 0) {
        sleep_for(0.02 * share);
    } else {
        double begin = now();
        int64_t started;
        while ((started = atomic_load(&shared->started)) < 0 ||
               atomic_load(&shared->step) < started + steps) {
            int ended;
            if (waitpid(child, &ended, WNOHANG) == child)
                return exit_of(ended);
            sleep_for(1e-4);
        }
        sleep_for(share * (now() - begin) / (double)(steps + 1));
    }
    kill(child, number);
    int ended = 0;
    CHECK(waitpid(child, &ended, 0) == child);
    return exit_of(ended);
}

static const char *folder_of(const char *kind, int round)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", kind, round);
    return scratch_path(name);
}

static void check_same(const char *folder, const char *reference)
{
    CHECK(same_file(folder, reference, "model.safetensors"));
    CHECK(same_file(folder, reference, "optimizer.safetensors"));
    CHECK(same_file(folder, reference, "best.safetensors"));
    CHECK(same_file(folder, reference, "config.json"));
    CHECK(same_file(folder, reference, "average.safetensors") || !has_file(reference, "average.safetensors"));
    for (int step = 5; step <= 60; step += 5) {
        char name[32];
        snprintf(name, sizeof name, "weights-%d.safetensors", step);
        CHECK(!has_file(folder, name));
    }
    CHECK(!has_file(folder, "model.safetensors.next"));
    CHECK(!has_file(folder, "optimizer.safetensors.next"));
    CHECK(!has_file(folder, "best.safetensors.next"));
    char *lines = timeless_metrics(folder), *wanted = timeless_metrics(reference);
    CHECK_TEXT(lines, wanted);
    free(lines);
    free(wanted);
}

/* Stops a run several times by signal `number`, each time with exit status `wanted`, and then lets it finish.
 */
static void test_stopped(const struct run_config *config, const char *reference, int number, int wanted,
                         int round)
{
    check_about("signal %d, round %d", number, round);
    const char *folder = folder_of(number == SIGKILL ? "killed" : "interrupted", round);
    int stops = 0, end = wanted;
    for (int i = 0; i < SIGNALS && end == wanted; i++) {
        end = signal_at_some_moment(start_child(config, folder), number);
        stops += end == wanted;
    }
    CHECK(end == wanted || end == CHILD_DONE);
    CHECK(stops > 1);
    finish(config, folder);
    check_same(folder, reference);
    check_about("%s", "");
}

/* Kills one run per moment, before and after every change of a checkpoint's files. */
static void test_moments(const struct run_config *config, const char *reference, int64_t first, int64_t last)
{
    for (int64_t moment = first; moment <= last; moment++) {
        check_about("killed at moment %lld, checkpoint_every %lld", (long long)moment,
                    (long long)config->train.checkpoint_every);
        static int runs;
        const char *folder = folder_of("moment", runs++);
        int status = 0;
        atomic_store(&shared->dies_at, moment);
        pid_t child = start_child(config, folder);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_INT(exit_of(status), -1);
        atomic_store(&shared->dies_at, 0);
        finish(config, folder);
        check_same(folder, reference);
    }
    check_about("%s", "");
}

/* A checkpoint has eight moments, before and after writing and renaming two files; a best one has four. */
enum { CHECKPOINT_MOMENTS = 8, BEST_MOMENTS = 4 };

/* Best checkpoints are written at steps 20 and 40. Checkpoints come at their steps (every 5), or none does
 * before them (every 25): then a killed run has a best checkpoint of a step that it has to take again. */
static void test_best(const struct run_config *config, const char *reference)
{
    int64_t first = 4 * CHECKPOINT_MOMENTS, second = first + BEST_MOMENTS + 4 * CHECKPOINT_MOMENTS;
    test_moments(config, reference, first + 1, first + BEST_MOMENTS);
    test_moments(config, reference, second + 1, second + BEST_MOMENTS);
    struct run_config rare = *config;
    rare.train.checkpoint_every = 25;
    char rare_reference[512]; /* its own copy: scratch_path's buffers are used again */
    snprintf(rare_reference, sizeof rare_reference, "%s", scratch_path("rare"));
    finish(&rare, rare_reference);
    CHECK_INT(atomic_load(&shared->moments), 2 * BEST_MOMENTS + 3 * CHECKPOINT_MOMENTS);
    test_moments(&rare, rare_reference, 1, 2 * BEST_MOMENTS + CHECKPOINT_MOMENTS + 1);
}

/* With a mean of checkpoints a checkpoint has four moments more, and the mean has four: the last checkpoints
 * are killed in all of theirs. */
static void test_average(const struct run_config *config)
{
    struct run_config averaged = *config;
    averaged.train.average_checkpoints = 3;
    char reference[512]; /* its own copy: scratch_path's buffers are used again */
    snprintf(reference, sizeof reference, "%s", scratch_path("average"));
    finish(&averaged, reference);
    CHECK(has_file(reference, "average.safetensors"));
    const int64_t last = atomic_load(&shared->moments), each = CHECKPOINT_MOMENTS + 4;
    CHECK_INT(last, 12 * each + 2 * BEST_MOMENTS + 4);
    test_moments(&averaged, reference, last - 4 - each - each / 2, last);
}

/* A run killed between the renames of a checkpoint, with a metrics.jsonl of later steps whose last line is
 * unfinished. */
static void test_torn_metrics(const struct run_config *config, const char *reference)
{
    const char *folder = scratch_path("torn");
    int status = 0;
    atomic_store(&shared->dies_at, CHECKPOINT_MOMENTS + 6);
    pid_t child = start_child(config, folder);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(exit_of(status), -1);
    atomic_store(&shared->dies_at, 0);
    CHECK(has_file(folder, "model.safetensors.next"));
    CHECK(!has_file(folder, "optimizer.safetensors.next"));
    size_t count;
    char *metrics = read_file(reference, "metrics.jsonl", &count);
    write_file(folder, "metrics.jsonl", metrics, count - 5);
    free(metrics);
    finish(config, folder);
    check_same(folder, reference);
}

/* Runs over examples in packed batches, whose masks or windows change with each reading, and with labels. */
static void test_corpus(const char *task)
{
    struct run_config config;
    run_config_default(&config);
    set_option(&config, task);
    set_option(&config, "masked_documents=60");
    set_option(&config, "masked_held_out=6");
    set_option(&config, "language_documents=60");
    set_option(&config, "language_held_out=6");
    set_option(&config, "language_windows=random");
    set_option(&config, "classification_examples=60");
    set_option(&config, "classification_held_out=6");
    if (strcmp(task, "task=language") != 0)
        set_option(&config, "architecture=encoder");
    config.task.sequence_length = 48;
    tiny_model(&config, 1);
    config.model.dropout = 0.1;
    config.train.steps = 60;
    config.train.batch_tokens = 200;
    config.train.log_every = 5;
    config.train.evaluate_every = 20;
    config.train.checkpoint_every = 5;
    rotary_error error;
    if (!CHECK_INT(run_config_check(&config, &error), ROTARY_OK))
        printf("%s\n", error.message);
    char reference[512]; /* its own copy: scratch_path's buffers are used again */
    snprintf(reference, sizeof reference, "%s", scratch_path(task));
    finish(&config, reference);
    test_stopped(&config, reference, SIGKILL, -1, config.task.task * 1000);
    CHECK(same_file(folder_of("killed", config.task.task * 1000), reference, "predictions.tsv") ||
          !has_file(reference, "predictions.tsv"));
}

int main(int count, char **arguments)
{
    const int more = count > 1 ? atoi(arguments[1]) : 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(shared != MAP_FAILED))
        return check_report();
    struct run_config config;
    tiny_config(&config);
    char reference[512]; /* its own copy: scratch_path's buffers are used again */
    snprintf(reference, sizeof reference, "%s", scratch_path("reference"));
    finish(&config, reference);
    const int64_t all = atomic_load(&shared->moments), first = 2 * CHECKPOINT_MOMENTS + 2;
    for (int round = more > 0; round <= more; round++) {
        chance.key.seed = (uint64_t)round + 1; /* moments that no other round has */
        test_stopped(&config, reference, SIGKILL, -1, round);
        test_stopped(&config, reference, SIGTERM, CHILD_INTERRUPTED, round);
    }
    if (more > 0) {
        test_moments(&config, reference, first + 1, all);
        return check_report();
    }
    test_moments(&config, reference, 1, first); /* two checkpoints and the start of a third */
    test_best(&config, reference);
    test_torn_metrics(&config, reference);
    test_average(&config);
    test_corpus("task=masked");
    test_corpus("task=language");
    test_corpus("task=classification");
    return check_report();
}
