/* SPDX-License-Identifier: Apache-2.0 */
#include "records/sample_runs.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sample_run sample_example[MADE_EXAMPLE] = {
    {"rope", 1, 1.31, 110, 128, 0, 0, 0},  {"roper", 1, 0.82, 85, 128, 0, 0, 0},
    {"none", 1, 2.0, 40, 128, 0, 0, 0},    {"rope", 3, 1.43, 117, 128, 0, 0, 0},
    {"roper", 3, 0.77, 104, 128, 0, 0, 0}, {"none", 3, 2.5, 36, 128, 0, 0, 0},
    {"rope", 2, 1.22, 121, 128, 0, 0, 0},  {"roper", 2, 0.61, 101, 128, 0, 0, 0},
    {"none", 2, 2.2, 31, 128, 0, 0, 0},    {"none", 4, 2.4, 12, 128, 0, 0, 0},
    {"roper", 5, 0.79, 119, 128, 0, 0, 0}, {"rope", 5, 1.36, 125, 128, 0, 0, 0},
    {"none", 5, 2.37, 55, 128, 0, 0, 0},   {"roper", 6, 0.7, 100, 128, 410, 0, 0},
    {"none", 6, 2.1, 30, 128, 0, 310, 0},  {"rope", 8, 1.28, 123, 128, 0, 0, 0},
    {"roper", 8, 0.74, 90, 128, 0, 0, 0},  {"none", 8, 2.15, 60, 128, 0, 0, 0},
    {"roper", 7, 0.8, 95, 128, 0, 0, 0},   {"none", 7, 2.3, 20, 128, 0, 0, 0},
    {"rope", 7, 1.4, 119, 128, 0, 0, 0},
};

void sample_example_without_problems(struct sample_run runs[MADE_EXAMPLE])
{
    memcpy(runs, sample_example, sizeof sample_example);
    for (int i = 0; i < MADE_EXAMPLE; i++)
        runs[i].problems = runs[i].correct = 0;
}

void sample_example_translated(struct sample_run runs[MADE_EXAMPLE])
{
    sample_example_without_problems(runs);
    for (int i = 0; i < MADE_EXAMPLE; i++)
        runs[i].bleu = 50.0 - 7.0 * runs[i].loss;
}

static void *must(void *memory)
{
    if (memory)
        return memory;
    perror("sample_runs");
    exit(1);
}

/* How far a run is from its end at an evaluation, from 1 to 0. The last evaluation but one is better than the
 * last. */
static double distance_at(int evaluation)
{
    return evaluation == MADE_EVALUATIONS - 2
               ? -0.05
               : (MADE_EVALUATIONS - 1 - evaluation) / (MADE_EVALUATIONS - 1.0);
}

static void add_evaluations(struct record *record, const struct sample_run *run, int at)
{
    record->evaluations = must(calloc(MADE_EVALUATIONS, sizeof *record->evaluations));
    for (int i = 0; i < MADE_EVALUATIONS; i++) {
        int64_t step = MADE_STEPS * (i + 1) / MADE_EVALUATIONS;
        if (step > record->done)
            break;
        double distance = distance_at(i);
        const bool translated = run->bleu > 0.0, last = i == MADE_EVALUATIONS - 1;
        double correct = (double)run->correct - distance * (0.9 - 0.01 * at) * (double)run->correct;
        record->evaluations[record->evaluation_count++] =
            (struct record_evaluation){.step = step,
                                       .correct = (int64_t)fmin(floor(correct), (double)run->problems),
                                       .problems = run->problems,
                                       .loss = run->loss + distance * (1 + 0.07 * at),
                                       .translated = translated ? 64 : 0,
                                       .bleu = translated ? run->bleu - 3.0 - distance : 0.0,
                                       .test_translated = translated && last ? 1000 : 0,
                                       .test_bleu = translated && last ? run->bleu : 0.0};
    }
}

static void add_points(struct record *record, const struct sample_run *run, int at)
{
    record->points = must(calloc(MADE_POINTS, sizeof *record->points));
    for (int i = 0; i < MADE_POINTS; i++) {
        int64_t step = MADE_STEPS * (i + 1) / MADE_POINTS;
        if (step <= record->done)
            record->points[record->point_count++] =
                (struct record_point){.step = step, .loss = run->loss + (1 + 0.03 * at) / (1 + i)};
    }
}

/* What the model answered says whose answer it is. */
static void add_samples(struct record *record, const struct sample_run *run)
{
    record->samples = must(calloc(MADE_SAMPLES, sizeof *record->samples));
    record->sample_lines = json_array();
    for (int i = 0; i < MADE_SAMPLES; i++) {
        char generated[128], prompt[32];
        snprintf(generated, sizeof generated, "%s's answer %d from seed %d", run->arm, i, (int)run->seed);
        snprintf(prompt, sizeof prompt, "problem %d", i);
        json_t *texts = json_pack("[s, s]", generated, prompt);
        json_array_append_new(record->sample_lines, texts);
        record->samples[record->sample_count++] =
            (struct record_sample){.prompt = json_string_value(json_array_get(texts, 1)),
                                   .answer = "reference",
                                   .generated = json_string_value(json_array_get(texts, 0)),
                                   .correct = i % 2 == 0};
    }
}

int64_t sample_parameters(const char *arm)
{
    return 1000 * (int64_t)strlen(arm) + arm[0];
}

static void make(struct record *record, const struct sample_run *run, int at, const char *primary_measure)
{
    char folder[128];
    snprintf(folder, sizeof folder, "made/%s-%d", run->arm, (int)run->seed);
    *record = (struct record){.folder = must(strdup(folder)),
                              .arm = must(strdup(run->arm)),
                              .seed = run->seed,
                              .steps = MADE_STEPS,
                              .done = run->diverged ? run->diverged
                                      : run->done   ? run->done
                                                    : MADE_STEPS,
                              .diverged = run->diverged,
                              .parameters = sample_parameters(run->arm),
                              .tokens_per_second = 60 + 10 * (double)strlen(run->arm) +
                                                   (double)(run->arm[0] - 'n') * (double)run->seed};
    record->config =
        must(json_pack("{s:s, s:s, s:I, s:i}", "task",
                       run->bleu > 0.0 ? "translation"
                       : run->problems ? "index"
                                       : "prefix",
                       "position", run->arm, "seed", (json_int_t)run->seed, "steps", (int)MADE_STEPS));
    if (primary_measure)
        json_object_set_new(record->config, "primary_measure", json_string(primary_measure));
    record->task = json_string_value(json_object_get(record->config, "task"));
    record->position = json_string_value(json_object_get(record->config, "position"));
    add_evaluations(record, run, at);
    add_points(record, run, at);
    if (run->problems || run->bleu > 0.0)
        add_samples(record, run);
}

void sample_collection(struct collection *collection, const struct sample_run *runs, int count,
                       const char *primary_measure, struct comparison_request request)
{
    rotary_error error = {0};
    *collection = (struct collection){.record_count = count, .planned = count};
    collection->records = must(calloc((size_t)count + 1, sizeof *collection->records));
    for (int i = 0; i < count; i++)
        make(&collection->records[i], &runs[i], i, primary_measure);
    request.records = collection->records;
    request.record_count = count;
    if (CHECK_INT(comparison_create(&collection->comparison, &request, &error), ROTARY_OK))
        return;
    printf("    %s\n", error.message);
    exit(1);
}
