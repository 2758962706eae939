/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ninety_percent = 0.9;

enum measure comparison_measure(const struct comparison *comparison)
{
    return comparison->has_problems ? MEASURE_EXACT_MATCH : MEASURE_VALIDATION_LOSS;
}

enum direction measure_direction(enum measure measure)
{
    return measure == MEASURE_EXACT_MATCH ? HIGHER_IS_BETTER : LOWER_IS_BETTER;
}

static double measure_of(const struct record *record, enum measure measure)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    if (measure == MEASURE_VALIDATION_LOSS)
        return last->loss;
    return last->problems ? 100.0 * (double)last->correct / (double)last->problems : (double)NAN;
}

int comparison_find(const struct comparison *comparison, const char *name)
{
    for (int i = 0; i < comparison->encoding_count; i++)
        if (strcmp(comparison->encodings[i].name, name) == 0)
            return i;
    return -1;
}

static rotary_status no_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a comparison");
}

/* Scores compare only for the same task and number of problems. */
static rotary_status check_records(struct comparison *comparison, const struct record *records, int count,
                                   rotary_error *error)
{
    const struct record *scored = NULL;
    for (int i = 0; i < count; i++) {
        if (strcmp(records[i].task, records[0].task) != 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s is a run of task %s and %s one of %s: wanted runs of one task",
                               records[0].folder, records[0].task, records[i].folder, records[i].task);
        const struct record_evaluation *last = record_last_evaluation(&records[i]);
        if (!last)
            continue;
        if (scored && last->problems != comparison->problems)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s was scored on %lld problems and %s on %lld: wanted the same number",
                               records[i].folder, (long long)last->problems, scored->folder,
                               (long long)comparison->problems);
        comparison->problems = last->problems;
        scored = &records[i];
    }
    comparison->has_problems = comparison->problems > 0;
    return ROTARY_OK;
}

/* Appends the encoding's finished records, either those that diverged or the others, to its runs, by seed. */
static rotary_status collect(struct comparison_encoding *encoding, const struct record *records, int count,
                             bool diverged, rotary_error *error)
{
    int *runs = encoding->runs + (diverged ? encoding->run_count : 0), found = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(records[i].position, encoding->name) != 0 || !record_finished(&records[i]) ||
            (records[i].diverged > 0) != diverged)
            continue;
        int place = found;
        while (place > 0 && records[runs[place - 1]].seed > records[i].seed) {
            runs[place] = runs[place - 1];
            place--;
        }
        if (place > 0 && records[runs[place - 1]].seed == records[i].seed)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s and %s are both %s with seed %lld: wanted one run of each seed",
                               records[runs[place - 1]].folder, records[i].folder, encoding->name,
                               (long long)records[i].seed);
        runs[place] = i;
        found++;
    }
    *(diverged ? &encoding->diverged_count : &encoding->run_count) = found;
    return ROTARY_OK;
}

static void pair_runs(struct comparison_encoding *encoding, const struct comparison_encoding *baseline,
                      const struct record *records)
{
    int pairs = 0;
    for (int i = 0; i < encoding->run_count; i++)
        for (int j = 0; j < baseline->run_count; j++) {
            int64_t seed = records[encoding->runs[i]].seed;
            if (seed != records[baseline->runs[j]].seed)
                continue;
            for (int measure = 0; measure < MEASURES; measure++)
                encoding->differences[measure][pairs] =
                    encoding->values[measure][i] - baseline->values[measure][j];
            encoding->pair_seeds[pairs++] = seed;
        }
    for (int measure = 0; measure < MEASURES; measure++)
        encoding->difference[measure] = statistics_paired(encoding->differences[measure], pairs);
}

/* One block holds all arrays of an encoding, which has at most as many runs as there are records. */
static rotary_status make_room(struct comparison_encoding *encoding, int count, rotary_error *error)
{
    size_t room = (size_t)count + 1;
    double *block = malloc(room * (2 * MEASURES * sizeof(double) + 2 * sizeof(int64_t) + sizeof(int)));
    if (!block)
        return no_memory(error);
    for (int measure = 0; measure < MEASURES; measure++) {
        encoding->values[measure] = block + (size_t)measure * room;
        encoding->differences[measure] = block + (size_t)(MEASURES + measure) * room;
    }
    encoding->steps_to_90 = (int64_t *)(block + 2 * MEASURES * room);
    encoding->pair_seeds = encoding->steps_to_90 + room;
    encoding->runs = (int *)(encoding->pair_seeds + room);
    return ROTARY_OK;
}

static rotary_status summarize(struct comparison_encoding *encoding,
                               const struct comparison_encoding *baseline, const struct record *records,
                               int count, rotary_error *error)
{
    rotary_status status = make_room(encoding, count, error);
    if (status == ROTARY_OK)
        status = collect(encoding, records, count, false, error);
    if (status == ROTARY_OK)
        status = collect(encoding, records, count, true, error);
    if (status != ROTARY_OK)
        return status;
    int runs = encoding->run_count, diverged = encoding->diverged_count;
    for (int i = 0; i < runs + diverged; i++)
        encoding->steps_to_90[i] =
            i < runs ? record_steps_to(&records[encoding->runs[i]], ninety_percent) : NOT_REACHED;
    for (int measure = 0; measure < MEASURES; measure++) {
        double *values = encoding->values[measure];
        for (int i = 0; i < runs; i++)
            values[i] = measure_of(&records[encoding->runs[i]], measure);
        struct statistics *statistics = &encoding->statistics[measure];
        statistics_of(statistics, values, runs, measure_direction(measure));
        if (diverged)
            statistics->without_worst = diverged == 1 ? statistics->mean : (double)NAN;
    }
    pair_runs(encoding, baseline, records);
    return statistics_reached(&encoding->reached, encoding->steps_to_90, runs + diverged, error);
}

static rotary_status fill(struct comparison *comparison, const struct record *records, int count,
                          const char *const *positions, int position_count, rotary_error *error)
{
    rotary_status status = check_records(comparison, records, count, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < position_count; i++)
        comparison->encodings[comparison->encoding_count++].name = positions[i];
    for (int i = 0; i < count; i++) {
        comparison->unfinished += !record_finished(&records[i]);
        comparison->diverged += records[i].diverged > 0;
        if (records[i].steps > comparison->steps)
            comparison->steps = records[i].steps;
        if (comparison_find(comparison, records[i].position) < 0)
            comparison->encodings[comparison->encoding_count++].name = records[i].position;
    }
    for (int i = 0; i < comparison->encoding_count; i++) {
        status = summarize(&comparison->encodings[i], &comparison->encodings[0], records, count, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}

rotary_status comparison_create(struct comparison **comparison, const struct record *records, int count,
                                const char *const *positions, int position_count, rotary_error *error)
{
    struct comparison *created = calloc(1, sizeof *created);
    if (!created)
        return no_memory(error);
    size_t max = (size_t)(count + position_count);
    created->encodings = calloc(max ? max : 1, sizeof *created->encodings);
    if (!created->encodings) {
        free(created);
        return no_memory(error);
    }
    created->records = records;
    rotary_status status = fill(created, records, count, positions, position_count, error);
    if (status != ROTARY_OK) {
        comparison_destroy(created);
        return status;
    }
    *comparison = created;
    return ROTARY_OK;
}

void comparison_destroy(struct comparison *comparison)
{
    if (!comparison)
        return;
    for (int i = 0; i < comparison->encoding_count; i++)
        free(comparison->encodings[i].values[0]);
    free(comparison->encodings);
    free(comparison);
}
