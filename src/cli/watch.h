/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress of a list of runs on stderr: what it will take, then a bar for one run at a time, or one line
 * for those that are trained side by side.
 */
#ifndef ROTARY_CLI_WATCH_H
#define ROTARY_CLI_WATCH_H

#include "cli/output/progress.h"
#include "study/run_list.h"

struct comparison_design;
struct watched_run; /* what a job is at */

struct watch {
    struct progress progress;
    const struct comparison_design *design; /* of the command that watches, until its rule is said */
    int asked;                              /* jobs: as run_list_call.jobs */
    int run, runs;                          /* the last one reported; of so many */
    int done;                               /* runs that are finished */
    int jobs;                               /* number of: */
    struct watched_run *busy;               /* NULL: one at a time */
};

void watch_start(struct watch *watch, int asked, int runs);
void watch_end(struct watch *watch);

/* For run_list_call.estimated and .progress; `argument` is a struct watch. */
void watch_estimate(void *argument, const struct run_list_estimate *estimate);
void watch_run(void *argument, const struct run_progress *now);

/* "3 of 10 runs done  4m10s left  rope, seed 2: 45%  roper, seed 2: 40%" */
enum { WATCH_LINE_BYTES = 1024 };
void watch_line(const struct watch *watch, char line[WATCH_LINE_BYTES]);

#endif
