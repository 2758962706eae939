/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/series.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bin of a step, 0 ... SERIES_POINTS - 1. */
static int64_t bin_of(const struct record *record, int64_t step)
{
    int64_t bin = (step - 1) * SERIES_POINTS / (record->steps > 0 ? record->steps : 1);
    return bin < SERIES_POINTS ? bin : SERIES_POINTS - 1;
}

/* One point per bin that has losses: their mean, at the last of their steps. */
static void average_losses(struct series_curve *curve, const struct record *record)
{
    for (int64_t i = 0; i < record->point_count;) {
        int64_t bin = bin_of(record, record->points[i].step), first = i;
        double sum = 0;
        for (; i < record->point_count && bin_of(record, record->points[i].step) == bin; i++)
            sum += record->points[i].loss;
        curve->points[curve->count++] = (struct series_point){.step = (double)record->points[i - 1].step,
                                                              .value = sum / (double)(i - first)};
    }
}

/* What a curve shows of evaluations. */
struct shown {
    enum series_kind kind;
    enum label_score label; /* of SERIES_LABELS */
};

/* NaN: the evaluation has none of this kind. */
static double evaluation_value(const struct record_evaluation *evaluation, struct shown shown)
{
    const enum series_kind kind = shown.kind;
    if (kind == SERIES_LABELS)
        return evaluation->labels.examples > 0 ? 100.0 * evaluation->labels.values[shown.label] : (double)NAN;
    if (kind == SERIES_BLEU)
        return evaluation->translated > 0 ? evaluation->bleu : (double)NAN;
    if (kind == SERIES_VALIDATION_LOSS)
        return evaluation->loss;
    return evaluation->problems ? 100.0 * (double)evaluation->correct / (double)evaluation->problems
                                : (double)NAN;
}

/* Takes those of the run's own weights, not of averaged ones; of several at one step the last. */
static void copy_evaluations(struct series_curve *curve, const struct record *record, struct shown shown)
{
    for (int64_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *evaluation = &record->evaluations[i];
        double value = evaluation_value(evaluation, shown);
        if (evaluation->averaged || (isnan(value) && shown.kind != SERIES_VALIDATION_LOSS))
            continue;
        const double step = (double)evaluation->step;
        const bool again = curve->count > 0 && curve->points[curve->count - 1].step == step;
        curve->points[again ? curve->count - 1 : curve->count++] =
            (struct series_point){.step = step, .value = value};
    }
}

static rotary_status add_run(struct series *series, const struct collection *collection,
                             const struct record *record, enum series_kind kind, rotary_error *error)
{
    struct series_curve *curve = &series->curves[series->count++];
    *curve = (struct series_curve){.arm = comparison_find(collection->comparison, record->arm),
                                   .finished = record_finished(record) && !record->diverged,
                                   .diverged = record->diverged > 0,
                                   .seed = record->seed};
    int64_t max = kind == SERIES_TRAINING_LOSS ? SERIES_POINTS : record->evaluation_count;
    curve->points = malloc(sizeof *curve->points * (size_t)(max + 1));
    if (!curve->points)
        return rotary_fail_memory(error, "for the curves of a report");
    if (kind == SERIES_TRAINING_LOSS)
        average_losses(curve, record);
    else
        copy_evaluations(
            curve, record,
            (struct shown){kind, measure_label(comparison_label_measure(collection->comparison))});
    return ROTARY_OK;
}

double series_value(const struct series_curve *curve, double step)
{
    int low = 0, high = curve->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (curve->points[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < curve->count && curve->points[low].step == step ? curve->points[low].value : (double)NAN;
}

/* Adds the mean of an arm's finished runs, at the steps where all of them have a value. */
static rotary_status add_mean(struct series *series, int runs, int arm, rotary_error *error)
{
    const struct series_curve *first = NULL;
    int finished = 0;
    for (int i = 0; i < runs; i++)
        if (series->curves[i].arm == arm && series->curves[i].finished) {
            first = first ? first : &series->curves[i];
            finished++;
        }
    if (finished < 2)
        return ROTARY_OK;
    struct series_curve *mean = &series->curves[series->count++];
    *mean = (struct series_curve){.arm = arm, .mean = true, .finished = true};
    mean->points = malloc(sizeof *mean->points * (size_t)(first->count + 1));
    if (!mean->points)
        return rotary_fail_memory(error, "for the curves of a report");
    for (int point = 0; point < first->count; point++) {
        double step = first->points[point].step, sum = 0;
        for (int i = 0; i < runs; i++)
            if (series->curves[i].arm == arm && series->curves[i].finished)
                sum += series_value(&series->curves[i], step);
        if (!isnan(sum))
            mean->points[mean->count++] = (struct series_point){.step = step, .value = sum / finished};
    }
    return ROTARY_OK;
}

rotary_status series_create(struct series *series, const struct collection *collection, enum series_kind kind,
                            rotary_error *error)
{
    int runs = collection->record_count, arms = collection->comparison->arm_count;
    *series = (struct series){.curves = calloc((size_t)(runs + arms) + 1, sizeof *series->curves)};
    if (!series->curves)
        return rotary_fail_memory(error, "for the curves of a report");
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < runs; i++)
        status = add_run(series, collection, &collection->records[i], kind, error);
    for (int i = 0; status == ROTARY_OK && i < arms; i++)
        status = add_mean(series, runs, i, error);
    if (status != ROTARY_OK)
        series_free(series);
    return status;
}

void series_free(struct series *series)
{
    for (int i = 0; i < series->count; i++)
        free(series->curves[i].points);
    free(series->curves);
    *series = (struct series){0};
}
