/* SPDX-License-Identifier: Apache-2.0 */
#include "report/comparison_table.h"

#include "base/fail.h"
#include "file/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_verdict_of_pairs(FILE *stream, const struct comparison *comparison, int index)
{
    enum measure measure = comparison->measures[0];
    const char *name = comparison->arms[index].name, *baseline = comparison->arms[0].name;
    const struct paired_difference *difference = &comparison_contrast(comparison, index)->difference[measure];
    const char *unit = measure_descriptions[measure].unit;
    int decimals = measure_descriptions[measure].decimals, pairs = difference->count;
    double mean = difference->mean, low = difference->low, high = difference->high;

    if (pairs == 0) {
        fprintf(stream, "no verdict on %s and %s yet: no seed is finished with both", name, baseline);
        return;
    }
    if (isnan(mean)) {
        fprintf(stream, "no verdict on %s and %s: the loss of a run is NaN", name, baseline);
        return;
    }
    enum verdict verdict = statistics_verdict(difference, measure_descriptions[measure].better);
    switch (verdict) {
    case VERDICT_TOO_FEW:
        fprintf(stream, "too few runs to tell %s from %s: %+.*f %s over %d pair%s", name, baseline, decimals,
                mean, unit, pairs, pairs == 1 ? "" : "s");
        return;
    case VERDICT_NO_SPREAD:
        fprintf(stream, "no verdict on %s and %s: all %d differences are %+.*f %s, and no interval follows",
                name, baseline, pairs, decimals, mean, unit);
        return;
    case VERDICT_NO_DIFFERENCE:
        fprintf(
            stream,
            "no difference shown between %s and %s: %+.*f %s, 95%% interval [%.*f, %.*f] contains zero, %d "
            "pairs",
            name, baseline, decimals, mean, unit, decimals, low, decimals, high, pairs);
        return;
    case VERDICT_BETTER:
    case VERDICT_WORSE:
        /* The amount by which it is better or worse is positive, and so is its interval. */
        fprintf(stream, "%s %s than %s by %.*f %s: 95%% interval [%.*f, %.*f], %d pairs", name,
                verdict == VERDICT_BETTER ? "better" : "worse", baseline, decimals, fabs(mean), unit,
                decimals, fmin(fabs(low), fabs(high)), decimals, fmax(fabs(low), fabs(high)), pairs);
        return;
    }
}

static void write_verdict(FILE *stream, const struct comparison *comparison, int index)
{
    write_verdict_of_pairs(stream, comparison, index);
    int diverged = comparison->arms[index].diverged_count + comparison->arms[0].diverged_count;
    if (diverged)
        fprintf(stream, "; %d run%s diverged", diverged, diverged == 1 ? "" : "s");
}

rotary_status comparison_verdict(const struct comparison *comparison, int index, char **sentence,
                                 rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    write_verdict(print.stream, comparison, index);
    status = print_end(&print, error);
    *sentence = print.text;
    return status;
}

static void write_number(FILE *stream, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(stream, "  %*s", width, "-");
    else
        fprintf(stream, "  %*.*f", width, decimals, value);
}

/* "600 (2 of 3)"; "> 600 (1 of 3)" if half of the runs or more did not reach the goal within 600 steps. */
static void write_reached(FILE *stream, const struct reached *reached, int64_t steps)
{
    char text[64] = "-";
    if (reached->count && isinf(reached->median))
        snprintf(text, sizeof text, "> %lld (%d of %d)", (long long)steps, reached->reached, reached->count);
    else if (reached->count)
        snprintf(text, sizeof text, "%.0f (%d of %d)", reached->median, reached->reached, reached->count);
    fprintf(stream, "  %16s", text);
}

static void write_difference(FILE *stream, const struct paired_difference *difference, int decimals)
{
    if (difference->count == 0 || isnan(difference->mean)) {
        fprintf(stream, "  -");
        return;
    }
    fprintf(stream, "  %+.*f", decimals, difference->mean);
    if (!isnan(difference->low))
        fprintf(stream, " [%+.*f, %+.*f]", decimals, difference->low, decimals, difference->high);
}

static int name_width(const struct comparison *comparison)
{
    int width = (int)strlen("encoding");
    for (int i = 0; i < comparison->arm_count; i++) {
        int length = (int)strlen(comparison->arms[i].name);
        width = length > width ? length : width;
    }
    return width;
}

static void write_table(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    int width = name_width(comparison), decimals = measure_descriptions[measure].decimals;
    if (measure == MEASURE_EXACT_MATCH)
        fprintf(stream, "exact match, %% of %lld problems\n", (long long)comparison->problems);
    else
        fprintf(stream, "validation loss, nats per token\n");
    fprintf(stream, "%-*s  runs  %8s  %8s  %8s  %8s  %8s  %9s", width, "encoding", "mean", "median",
            "st. dev.", "min", "max", "w/o worst");
    if (measure == MEASURE_EXACT_MATCH)
        fprintf(stream, "  %16s", "steps to 90%");
    fprintf(stream, "%s\n", comparison->arm_count > 1 ? "  difference [95% interval]" : "");
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        const struct statistics *statistics = &arm->statistics[measure];
        fprintf(stream, "%-*s  %4d", width, arm->name, arm->run_count);
        write_number(stream, 8, decimals, statistics->mean);
        write_number(stream, 8, decimals, statistics->median);
        write_number(stream, 8, decimals, statistics->deviation);
        write_number(stream, 8, decimals, statistics->min);
        write_number(stream, 8, decimals, statistics->max);
        write_number(stream, 9, decimals, statistics->without_worst);
        if (measure == MEASURE_EXACT_MATCH)
            write_reached(stream, &arm->reached, comparison->steps);
        if (i > 0)
            write_difference(stream, &comparison_contrast(comparison, i)->difference[measure], decimals);
        fputc('\n', stream);
    }
}

void comparison_divergence(FILE *stream, const struct comparison *comparison, int index)
{
    const struct comparison_arm *arm = &comparison->arms[index];
    int count = arm->diverged_count;
    fprintf(stream, "%d of %d run%s diverged and %s no score:", count, arm->run_count + count,
            arm->run_count + count == 1 ? "" : "s", count == 1 ? "has" : "have");
    for (int i = 0; i < count; i++) {
        const struct record *record = &comparison->records[arm->runs[arm->run_count + i]];
        fprintf(stream, "%s seed %lld at step %lld", i ? "," : "", (long long)record->seed,
                (long long)record->diverged);
    }
}

rotary_status comparison_text(const struct comparison *comparison, char **text, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    FILE *stream = print.stream;
    if (comparison->has_problems) {
        write_table(stream, comparison, MEASURE_EXACT_MATCH);
        fputc('\n', stream);
    }
    write_table(stream, comparison, MEASURE_VALIDATION_LOSS);
    if (comparison->unfinished || comparison->diverged || comparison->arm_count > 1)
        fputc('\n', stream);
    if (comparison->unfinished)
        fprintf(stream, "%d unfinished run%s not counted\n", comparison->unfinished,
                comparison->unfinished == 1 ? "" : "s");
    for (int i = 0; i < comparison->arm_count; i++) {
        if (!comparison->arms[i].diverged_count)
            continue;
        fprintf(stream, "%s: ", comparison->arms[i].name);
        comparison_divergence(stream, comparison, i);
        fputc('\n', stream);
    }
    for (int i = 1; i < comparison->arm_count; i++) {
        write_verdict(stream, comparison, i);
        fputc('\n', stream);
    }
    status = print_end(&print, error);
    *text = print.text;
    return status;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *measure_json(const struct comparison *comparison, int index, enum measure measure)
{
    const struct statistics *statistics = &comparison->arms[index].statistics[measure];
    const struct contrast *contrast = comparison_contrast(comparison, index);
    json_t *object =
        json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "runs", statistics->count, "mean",
                  real(statistics->mean), "median", real(statistics->median), "standard_deviation",
                  real(statistics->deviation), "min", real(statistics->min), "max", real(statistics->max),
                  "without_worst", real(statistics->without_worst));
    if (object && contrast) {
        const struct paired_difference *difference = &contrast->difference[measure];
        json_object_set_new(object, "difference",
                            json_pack("{s:i, s:o, s:o, s:o}", "pairs", difference->count, "mean",
                                      real(difference->mean), "low", real(difference->low), "high",
                                      real(difference->high)));
    }
    return object;
}

static json_t *runs_json(const struct comparison *comparison, const struct comparison_arm *arm)
{
    json_t *runs = json_array();
    for (int i = 0; i < arm->run_count; i++) {
        const struct record *record = &comparison->records[arm->runs[i]];
        int64_t steps = arm->steps_to_90[i];
        json_t *run = json_pack("{s:I, s:s, s:o}", "seed", (json_int_t)record->seed, "folder", record->folder,
                                "validation_loss", real(arm->values[MEASURE_VALIDATION_LOSS][i]));
        if (comparison->has_problems) {
            json_object_set_new(run, "correct", json_integer(record_last_evaluation(record)->correct));
            json_object_set_new(run, "steps_to_90_percent",
                                steps == NOT_REACHED ? json_null() : json_integer(steps));
        }
        json_array_append_new(runs, run);
    }
    return runs;
}

static json_t *diverged_json(const struct comparison *comparison, const struct comparison_arm *arm)
{
    json_t *runs = json_array();
    for (int i = 0; i < arm->diverged_count; i++) {
        const struct record *record = &comparison->records[arm->runs[arm->run_count + i]];
        json_array_append_new(runs, json_pack("{s:I, s:s, s:I}", "seed", (json_int_t)record->seed, "folder",
                                              record->folder, "step", (json_int_t)record->diverged));
    }
    return runs;
}

static json_t *arm_json(const struct comparison *comparison, int index)
{
    const struct comparison_arm *arm = &comparison->arms[index];
    json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "name", arm->name, "runs", runs_json(comparison, arm),
                               "diverged", diverged_json(comparison, arm), "validation_loss",
                               measure_json(comparison, index, MEASURE_VALIDATION_LOSS));
    if (object && comparison->has_problems) {
        json_object_set_new(object, "exact_match_percent",
                            measure_json(comparison, index, MEASURE_EXACT_MATCH));
        json_object_set_new(object, "steps_to_90_percent",
                            json_pack("{s:i, s:i, s:o}", "runs", arm->reached.count, "reached",
                                      arm->reached.reached, "median", real(arm->reached.median)));
    }
    return object;
}

rotary_status comparison_json(const struct comparison *comparison, json_t **object, rotary_error *error)
{
    json_t *arms = json_array(), *verdicts = json_array();
    for (int i = 0; i < comparison->arm_count; i++) {
        json_array_append_new(arms, arm_json(comparison, i));
        if (i == 0)
            continue;
        char *sentence;
        rotary_status status = comparison_verdict(comparison, i, &sentence, error);
        if (status != ROTARY_OK) {
            json_decref(arms);
            json_decref(verdicts);
            return status;
        }
        json_array_append_new(verdicts, json_string(sentence));
        free(sentence);
    }
    /* jansson's functions fail on NULL, so that one NULL anywhere above makes this one. */
    json_t *made = json_pack("{s:I, s:I, s:i, s:o, s:o}", "problems", (json_int_t)comparison->problems,
                             "steps", (json_int_t)comparison->steps, "unfinished", comparison->unfinished,
                             "arms", arms, "verdicts", verdicts);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a comparison as JSON");
    *object = made;
    return ROTARY_OK;
}
