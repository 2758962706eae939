/* SPDX-License-Identifier: Apache-2.0
 *
 * The line about runs that are trained side by side.
 */
#include "support/check.h"

#include "cli/watch.h"

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
    test_line();
    return check_report();
}
