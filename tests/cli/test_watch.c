/* SPDX-License-Identifier: Apache-2.0
 *
 * The line about runs that are trained side by side.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "cli/watch.h"

#include <stdio.h>
#include <string.h>

/* Two jobs of a list of five runs report a step. */
static void report(struct watch *watch, int run, int job, int64_t step, int done)
{
    const struct train_progress train = {.step = step, .steps = 100, .seconds_left = (double)(100 - step)};
    const struct run_progress now = {.run = run,
                                     .runs = 5,
                                     .arm = job ? "roper" : "rope",
                                     .seed = run,
                                     .train = &train,
                                     .job = job,
                                     .jobs = 2,
                                     .done = done};
    watch_run(watch, &now);
}

static void check_line(const struct watch *watch, const char *wanted)
{
    char line[WATCH_LINE_BYTES];
    watch_line(watch, line);
    CHECK_TEXT(line, wanted);
}

static void check_printed(FILE *printed, const char *wanted)
{
    char line[512] = "";
    CHECK(fgets(line, sizeof line, printed) != NULL);
    line[strcspn(line, "\n")] = 0;
    CHECK_TEXT(line, wanted);
}

/* What is printed before the first step, about one job, several, and fewer than were asked for. */
static void test_estimate(void)
{
    const char *path = scratch_path("stderr");
    struct run_list_estimate estimate = {.work = {.runs = 5, .steps = 100},
                                         .estimate = {.jobs = 2, .seconds = 250, .run_bytes = 40 << 20},
                                         .threads = 5};
    struct watch watch;
    if (!CHECK(freopen(path, "w", stderr) != NULL))
        return;
    watch_start(&watch, 7, 5);
    watch_estimate(&watch, &estimate);
    estimate.estimate.jobs = 5;
    watch.asked = 5;
    watch_estimate(&watch, &estimate);
    watch_end(&watch);
    watch_start(&watch, RUN_LIST_AUTO, 1);
    estimate.work.runs = estimate.estimate.jobs = 1;
    estimate.estimate.run_bytes = (size_t)3 << 30;
    watch_estimate(&watch, &estimate);
    watch_end(&watch);
    fflush(stderr);
    FILE *printed = fopen(path, "r");
    if (!CHECK(printed != NULL))
        return;
    check_printed(printed,
                  "2 jobs instead of 7: at most one for each of 5 runs, for each of 5 threads, and for "
                  "40 MiB of memory");
    check_printed(printed,
                  "5 runs of 100 steps to train, 2 at a time with 2 threads each: about 4m10s, 40 MiB "
                  "of memory each, 80 MiB together");
    check_printed(printed,
                  "5 runs of 100 steps to train, 5 at a time with 1 thread each: about 4m10s, 40 MiB "
                  "of memory each, 200 MiB together");
    check_printed(printed, "1 run of 100 steps to train: about 4m10s, 3.0 GiB of memory");
    fclose(printed);
}

/* A run takes 100 seconds. */
static void test_line(void)
{
    struct watch watch;
    const struct run_list_estimate estimate = {
        .work = {.runs = 5, .steps = 100}, .estimate = {.jobs = 2, .run_bytes = 1}, .threads = 2};
    watch_start(&watch, 2, 5);
    watch_estimate(&watch, &estimate);
    report(&watch, 1, 0, 60, 0);
    check_line(&watch, "0 of 5 runs done  3m40s left  rope, seed 1: 60%"); /* (40 + 4 * 100) / 2 */
    report(&watch, 2, 1, 40, 0);
    check_line(&watch, "0 of 5 runs done  3m20s left  rope, seed 1: 60%  roper, seed 2: 40%");
    report(&watch, 1, 0, 100, 0);
    report(&watch, 2, 1, 100, 1);
    check_line(&watch, "2 of 5 runs done  2m30s left"); /* between runs, three of which are left */
    report(&watch, 3, 0, 10, 2);
    report(&watch, 4, 1, 100, 2);
    report(&watch, 3, 0, 100, 3);
    report(&watch, 5, 1, 50, 4);
    check_line(&watch, "4 of 5 runs done  50s left  roper, seed 5: 50%"); /* the last run goes on alone */
    report(&watch, 5, 1, 100, 4);
    check_line(&watch, "5 of 5 runs done  0s left");
    watch_end(&watch);
}

int main(void)
{
    test_estimate();
    test_line();
    return check_report();
}
