/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that is killed, at any moment and as often as one likes, and resumed, ends with the same bytes as one
 * that was left alone; so does one that is asked to stop, and one that finds a checkpoint half renamed.
 *
 *     test_kill           a few rounds
 *     test_kill 20        as many rounds
 *
 * Everything is trained in child processes: a process that ran threads cannot fork another that does.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/random.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, KILLS = 8 };
enum { CHILD_DONE, CHILD_INTERRUPTED, CHILD_FAILED };

static struct rotary_random chance = {.key = {.seed = 1, .stream = ROTARY_STREAM_TEST}};

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

/* A moment between now and `longest` seconds from now. */
static double some_moment(double longest)
{
    return longest * (double)(rotary_random_next(&chance) >> 8) * 0x1p-24;
}

static atomic_bool interrupted;

static void interrupt(int signal)
{
    (void)signal;
    atomic_store(&interrupted, true);
}

/* Trains in a child, which is asked to stop after `alarm_after` seconds if that is not 0. */
static pid_t start_child(const struct run_config *config, const char *folder, double alarm_after)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0)
        return child;
    signal(SIGALRM, interrupt);
    if (alarm_after > 0.0) {
        struct itimerval timer = {.it_value = {.tv_usec = 1 + (suseconds_t)(1e6 * alarm_after)}};
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    struct train_result result;
    rotary_error error = {0};
    rotary_status status = train_tiny(config, THREADS, folder, &interrupted, &result, &error);
    if (status == ROTARY_OK)
        _exit(CHILD_DONE);
    if (status == ROTARY_INTERRUPTED)
        _exit(CHILD_INTERRUPTED);
    printf("child: %s\n", error.message);
    fflush(stdout);
    _exit(CHILD_FAILED);
}

/* The child's exit status; -1 if it was killed. */
static int end_of(pid_t child)
{
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void finish(const struct run_config *config, const char *folder)
{
    CHECK_INT(end_of(start_child(config, folder, 0.0)), CHILD_DONE);
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
    CHECK(same_file(folder, reference, "config.json"));
    CHECK(!has_file(folder, "model.safetensors.next"));
    CHECK(!has_file(folder, "optimizer.safetensors.next"));
    char *lines = timeless_metrics(folder), *wanted = timeless_metrics(reference);
    CHECK_TEXT(lines, wanted);
    free(lines);
    free(wanted);
}

static void test_killed(const struct run_config *config, const char *reference, double seconds, int round)
{
    check_about("killed, round %d", round);
    const char *folder = folder_of("killed", round);
    int kills = 0, end = -1;
    while (end != CHILD_DONE && kills < KILLS) {
        pid_t child = start_child(config, folder, 0.0);
        sleep_for(some_moment(seconds / 3.0));
        kill(child, SIGKILL);
        end = end_of(child);
        CHECK(end == -1 || end == CHILD_DONE);
        kills += end == -1;
    }
    CHECK(kills > 1);
    finish(config, folder);
    check_same(folder, reference);
    check_about("%s", "");
}

static void test_interrupted(const struct run_config *config, const char *reference, double seconds,
                             int round)
{
    check_about("interrupted, round %d", round);
    const char *folder = folder_of("interrupted", round);
    int stops = 0, end = CHILD_INTERRUPTED;
    while (end == CHILD_INTERRUPTED && stops < KILLS) {
        end = end_of(start_child(config, folder, some_moment(seconds / 3.0)));
        stops += end == CHILD_INTERRUPTED;
    }
    CHECK(end != CHILD_FAILED);
    CHECK(stops > 1);
    finish(config, folder);
    check_same(folder, reference);
    check_about("%s", "");
}

/* The states between the renamings of the checkpoint of step 35, and before them; metrics.jsonl is far ahead,
 * and its last line is torn. */
static void test_half_renamed(const struct run_config *config, const char *reference)
{
    const char *older = scratch_path("older"), *newer = scratch_path("newer");
    struct run_config shorter = *config;
    shorter.train.steps = 30;
    finish(&shorter, older);
    shorter.train.steps = 35;
    finish(&shorter, newer);
    size_t count;
    char *metrics = read_file(reference, "metrics.jsonl", &count);
    for (int state = 0; state < 4; state++) {
        static const char *const names[] = {"before", "between", "first checkpoint", "after"};
        check_about("half renamed: %s", names[state]);
        const char *folder = folder_of("half", state);
        CHECK(mkdir(folder, 0777) == 0);
        copy_file(reference, "config.json", folder, "config.json");
        write_file(folder, "metrics.jsonl", metrics, count - 5);
        copy_file(state == 0 ? older : newer, "optimizer.safetensors", folder, "optimizer.safetensors");
        if (state != 2)
            copy_file(state == 3 ? newer : older, "model.safetensors", folder, "model.safetensors");
        if (state != 3)
            copy_file(newer, "model.safetensors", folder, "model.safetensors.next");
        if (state == 0)
            copy_file(newer, "optimizer.safetensors", folder, "optimizer.safetensors.next");
        finish(config, folder);
        check_same(folder, reference);
    }
    check_about("%s", "");
    free(metrics);
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 2;
    struct run_config config;
    tiny_config(&config);
    const char *reference = scratch_path("reference");
    double begin = now();
    finish(&config, reference);
    double seconds = now() - begin;
    for (int round = 0; round < rounds; round++) {
        test_killed(&config, reference, seconds, round);
        test_interrupted(&config, reference, seconds, round);
    }
    test_half_renamed(&config, reference);
    return check_report();
}
