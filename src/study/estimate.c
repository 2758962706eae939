/* SPDX-License-Identifier: Apache-2.0 */
#include "study/estimate.h"

#include "base/clock.h"
#include "base/fail.h"
#include "file/memory.h"
#include "study/jobs.h"
#include "train/evaluation/evaluation.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

/* A measurement takes at least these steps after the first, and this time, but no more than MAX_STEPS. Of an
 * evaluation it takes a part. */
enum { MIN_STEPS = 2, MAX_STEPS = 50, MAX_PROBLEMS = 32 };
static const double min_seconds = 0.3;

/* ---- The choice. ---- */

double estimate_seconds(const struct estimate_times *times, const struct estimate_work *work)
{
    int rounds = (work->runs + times->jobs - 1) / times->jobs;
    return rounds * ((double)work->steps * times->step + (double)work->evaluations * times->evaluation);
}

int estimate_choose(const struct estimate_times *rows, int count, const struct estimate_work *work)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (estimate_seconds(&rows[i], work) < (1 - ESTIMATE_GAIN) * estimate_seconds(&rows[best], work))
            best = i;
    return best;
}

int estimate_candidates(int candidates[ESTIMATE_ROWS], int runs, int limit)
{
    enum { ROUNDS = 4 };
    int count = 0;
    for (int jobs = 1; jobs <= limit && count < ESTIMATE_ROWS; jobs++) {
        bool worth = (jobs & (jobs - 1)) == 0 || jobs == limit;
        for (int rounds = 1; rounds <= ROUNDS; rounds++)
            worth |= jobs == (runs + rounds - 1) / rounds;
        if (worth)
            candidates[count++] = jobs;
    }
    return count;
}

int estimate_limit(const struct estimate_limits *limits)
{
    int limit = limits->runs < limits->threads ? limits->runs : limits->threads;
    size_t fit = limits->run_bytes > 0 ? limits->available / limits->run_bytes : (size_t)limit;
    if (fit < (size_t)limit)
        limit = (int)fit;
    return limit > 1 ? limit : 1;
}

/* ---- The measurement. ---- */

struct measurement {
    const struct estimate_call *call;
    struct backend *backends;     /* [jobs] */
    struct estimate_times *times; /* [jobs] */
    bool evaluates;
};

static rotary_status measure_steps(struct trainer *trainer, const atomic_bool *stop, double *seconds,
                                   rotary_error *error)
{
    struct trainer_step taken;
    int64_t step = 1;
    rotary_status status = trainer_step(trainer, step, &taken, error); /* allocates, and touches its memory */
    double begin = rotary_clock(), elapsed = 0;
    while (status == ROTARY_OK && step <= MAX_STEPS && (step <= MIN_STEPS || elapsed < min_seconds)) {
        if (atomic_load(stop))
            return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted before the first step");
        status = trainer_step(trainer, ++step, &taken, error);
        elapsed = rotary_clock() - begin;
    }
    *seconds = elapsed / (double)(step - 1);
    return status;
}

/* Evaluates a part of the problems, or else of the sequences, and takes the others to be as long. */
static rotary_status measure_evaluation(const struct trainer *trainer, const atomic_bool *stop,
                                        double *seconds, rotary_error *error)
{
    const struct run_config *config = trainer->config;
    const enum scoring scoring = task_scoring(trainer->task);
    int64_t sequences = config->train.validation_sequences,
            all =
                scoring == SCORING_EXACT_MATCH || scoring == SCORING_BLEU ? config->task.problems : sequences;
    double part = all > MAX_PROBLEMS ? (double)MAX_PROBLEMS / (double)all : 1;
    const struct evaluation_config how = {
        .seed = (uint64_t)config->train.seed,
        .problems = (int64_t)ceil(part * (double)config->task.problems),
        .validation_sequences = (int64_t)ceil(part * (double)sequences),
        .interrupted = stop,
    };
    struct evaluation evaluation = {.sample_count = 0};
    rotary_status status = evaluation_run(trainer->task, trainer->transformer, &how, &evaluation, error);
    *seconds = evaluation.seconds / part;
    return status;
}

static rotary_status measure_one(void *argument, const struct jobs_item *item, rotary_error *error)
{
    const struct measurement *measurement = argument;
    struct estimate_times *times = &measurement->times[item->index];
    struct run_config config = *measurement->call->config;
    config.train.seed = ~config.train.seed & INT32_MAX; /* data that no run has */
    struct trainer trainer;
    rotary_status status = trainer_create(&trainer, &config, NULL, &measurement->backends[item->job], error);
    if (status != ROTARY_OK)
        return status;
    status = trainer_begin(&trainer, error);
    if (status == ROTARY_OK)
        status = measure_steps(&trainer, item->stop, &times->step, error);
    if (status == ROTARY_OK && measurement->evaluates)
        status = measure_evaluation(&trainer, item->stop, &times->evaluation, error);
    trainer_destroy(&trainer);
    return status;
}

/* Measures row->jobs runs side by side: their mean times. */
static rotary_status measure(const struct estimate_call *call, struct estimate_times *row,
                             rotary_error *error)
{
    struct measurement measurement = {.call = call,
                                      .times = calloc((size_t)row->jobs, sizeof *measurement.times),
                                      .evaluates = call->work.evaluations > 0};
    if (!measurement.times)
        return rotary_fail_memory(error, "for %d jobs", row->jobs);
    rotary_status status = jobs_backends_create(&measurement.backends, call->backend, row->jobs, error);
    const struct jobs_call jobs = {.jobs = row->jobs,
                                   .count = row->jobs,
                                   .run = measure_one,
                                   .argument = &measurement,
                                   .interrupted = call->interrupted};
    if (status == ROTARY_OK)
        status = jobs_run(&jobs, error);
    row->step = row->evaluation = 0;
    for (int i = 0; i < row->jobs; i++) {
        row->step += measurement.times[i].step / row->jobs;
        row->evaluation += measurement.times[i].evaluation / row->jobs;
    }
    jobs_backends_destroy(measurement.backends, row->jobs);
    free(measurement.times);
    return status;
}

/* Measures more jobs while that takes little of the time of all runs. Returns the number of rows. */
static int measure_more(const struct estimate_call *call, int limit,
                        struct estimate_times rows[ESTIMATE_ROWS])
{
    int candidates[ESTIMATE_ROWS], count = estimate_candidates(candidates, call->work.runs, limit),
                                   measured = 1;
    double begin = rotary_clock(), all = estimate_seconds(&rows[0], &call->work);
    if (all < ESTIMATE_SECONDS)
        return 1;
    for (int i = 1; i < count; i++) {
        double spent = rotary_clock() - begin;
        /* It takes as long as the steps of all its jobs, or less. */
        double expected = candidates[i] * ((1 + MIN_STEPS) * rows[0].step + rows[0].evaluation);
        if (spent + expected > ESTIMATE_SHARE * all)
            break;
        rows[measured].jobs = candidates[i];
        if (measure(call, &rows[measured], NULL) != ROTARY_OK)
            break; /* such as without memory: what was measured is there to choose from */
        measured++;
    }
    return measured;
}

rotary_status estimate_make(const struct estimate_call *call, struct estimate *estimate, rotary_error *error)
{
    *estimate = (struct estimate){.jobs = 1};
    rotary_status status = trainer_bytes(call->config, call->backend, &estimate->run_bytes, error);
    if (status != ROTARY_OK)
        return status;
    /* A quarter is left to evaluations and to whatever else runs here. */
    const struct estimate_limits limits = {.runs = call->work.runs,
                                           .threads = call->backend->threads,
                                           .run_bytes = estimate->run_bytes,
                                           .available = memory_available() / 4 * 3};
    estimate->limit = estimate_limit(&limits);
    int given = call->jobs < estimate->limit ? call->jobs : estimate->limit;
    struct estimate_times rows[ESTIMATE_ROWS] = {{.jobs = given > 0 ? given : 1}};
    status = measure(call, &rows[0], error);
    if (status != ROTARY_OK)
        return status;
    int count = given > 0 ? 1 : measure_more(call, estimate->limit, rows);
    const struct estimate_times *chosen = &rows[estimate_choose(rows, count, &call->work)];
    estimate->jobs = chosen->jobs;
    estimate->seconds = estimate_seconds(chosen, &call->work);
    if (call->interrupted && atomic_load(call->interrupted))
        return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted before the first step");
    return ROTARY_OK;
}
