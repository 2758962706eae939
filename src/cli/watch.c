/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch.h"

#include <stdlib.h>

enum { LABEL_BYTES = ARM_NAME_BYTES + 64 };

struct watched_run {
    bool busy;
    char label[LABEL_BYTES];
    int64_t step, steps;
    double seconds_left;
    double seconds; /* of a whole run, as this one or the job's last goes */
};

void watch_start(struct watch *watch, int asked, int runs)
{
    *watch = (struct watch){.asked = asked, .run = 1, .runs = runs, .jobs = 1};
    progress_start(&watch->progress);
}

void watch_end(struct watch *watch)
{
    progress_end(&watch->progress);
    free(watch->busy);
    watch->busy = NULL;
}

/* "512 MiB", "3.2 GiB". */
static void format_bytes(double bytes, char text[32])
{
    if (bytes < 0x1p30)
        snprintf(text, 32, "%.0f MiB", bytes / 0x1p20);
    else
        snprintf(text, 32, "%.1f GiB", bytes / 0x1p30);
}

static void begin_jobs(struct watch *watch, int jobs)
{
    free(watch->busy); /* of an earlier list */
    watch->busy = NULL;
    watch->jobs = jobs;
    if (jobs > 1) /* without memory there is a bar, of one run after the other */
        watch->busy = calloc((size_t)jobs, sizeof *watch->busy);
}

void watch_estimate(void *argument, const struct run_list_estimate *estimate)
{
    struct watch *watch = argument;
    const struct estimate *e = &estimate->estimate;
    const struct estimate_work *work = &estimate->work;
    char time[PROGRESS_TIME_BYTES], each[32], together[32], beside[96] = "";
    progress_time(e->seconds, time);
    format_bytes((double)e->run_bytes, each);
    format_bytes((double)e->run_bytes * e->jobs, together);
    if (watch->asked > e->jobs)
        progress_note(
            &watch->progress,
            "%d jobs instead of %d: at most one for each of %d runs, for each of %d threads, and for "
            "%s of memory",
            e->jobs, watch->asked, work->runs, estimate->threads, each);
    int least = estimate->threads / e->jobs;
    if (e->jobs > 1)
        snprintf(beside, sizeof beside, ", %d at a time with %d thread%s each", e->jobs, least,
                 least == 1 ? "" : "s");
    progress_note(&watch->progress, "%d run%s of %s%lld step%s to train%s: about %s, %s of memory%s%s%s",
                  work->runs, work->runs == 1 ? "" : "s", work->uneven ? "about " : "",
                  (long long)work->steps, work->steps == 1 ? "" : "s", beside, time, each,
                  e->jobs > 1 ? " each, " : "", e->jobs > 1 ? together : "", e->jobs > 1 ? " together" : "");
    begin_jobs(watch, e->jobs);
}

/* Estimates for all runs: those that wait take as long as those that are trained or were. */
static double seconds_left(const struct watch *watch)
{
    double left = 0, longest = 0, seconds = 0;
    int busy = 0, known = 0;
    for (int i = 0; i < watch->jobs; i++) {
        const struct watched_run *run = &watch->busy[i];
        known += run->seconds > 0;
        seconds += run->seconds;
        if (!run->busy)
            continue;
        busy++;
        left += run->seconds_left;
        longest = run->seconds_left > longest ? run->seconds_left : longest;
    }
    int waiting = watch->runs - watch->done - busy;
    if (known > 0 && waiting > 0)
        left += waiting * seconds / known;
    left /= watch->jobs;
    return left > longest ? left : longest;
}

void watch_line(const struct watch *watch, char line[WATCH_LINE_BYTES])
{
    char time[PROGRESS_TIME_BYTES];
    progress_time(seconds_left(watch), time);
    int used =
        snprintf(line, WATCH_LINE_BYTES, "%d of %d runs done  %s left", watch->done, watch->runs, time);
    for (int i = 0; i < watch->jobs && used > 0 && used < WATCH_LINE_BYTES; i++) {
        const struct watched_run *run = &watch->busy[i];
        if (run->busy)
            used += snprintf(line + used, (size_t)(WATCH_LINE_BYTES - used), "  %s: %.0f%%", run->label,
                             100.0 * (double)run->step / (double)run->steps);
    }
}

static void watch_one_of_many(struct watch *watch, const struct run_progress *now)
{
    struct watched_run *run = &watch->busy[now->job];
    snprintf(run->label, sizeof run->label, "%s, seed %lld", now->arm, (long long)now->seed);
    run->step = now->train->step;
    run->steps = now->train->steps;
    run->seconds_left = now->train->seconds_left;
    run->busy = run->step < run->steps;
    if (run->busy)
        run->seconds = run->seconds_left * (double)run->steps / (double)(run->steps - run->step);
    char line[WATCH_LINE_BYTES];
    watch_line(watch, line);
    progress_step_of_many(&watch->progress, run->label, now->train, line);
}

void watch_run(void *argument, const struct run_progress *now)
{
    struct watch *watch = argument;
    watch->run = now->run;
    watch->runs = now->runs;
    /* The report of its last step is a run's last. */
    watch->done = now->done + (now->train && now->train->step == now->train->steps);
    char label[LABEL_BYTES];
    snprintf(label, sizeof label, "%s, seed %lld (%d of %d)", now->arm, (long long)now->seed, now->run,
             now->runs);
    if (now->jobs > watch->jobs) /* ranks, which are not estimated */
        begin_jobs(watch, now->jobs);
    if (now->train && watch->busy)
        watch_one_of_many(watch, now);
    else if (now->train)
        progress_step(&watch->progress, label, now->runs - now->run, now->train);
    else if (now->diverged)
        progress_note(&watch->progress, "%s: diverged at step %lld", label, (long long)now->diverged);
    else
        progress_note(&watch->progress, "%s: finished before", label);
}
