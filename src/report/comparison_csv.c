/* SPDX-License-Identifier: Apache-2.0 */
#include "report/comparison_table.h"

#include "file/print.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/prediction/predictions.h"
#include "report/text_scores.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *status_of(const struct record *record)
{
    return record->diverged ? "diverged" : record_finished(record) ? "finished" : "unfinished";
}

/* ---- runs ---- */

/* Bytes are known of texts alone. */
static bool has_column(const struct comparison *comparison, int measure)
{
    return measure_fits((enum measure)measure, comparison->scoring) &&
           (measure != MEASURE_BITS_PER_BYTE || text_scores_are_known(comparison));
}

static void write_head(FILE *stream, const struct comparison *comparison)
{
    fputs("arm,seed,status,step", stream);
    for (int measure = 0; measure < MEASURES; measure++)
        if (has_column(comparison, measure))
            fprintf(stream, ",%s", measure_names[measure]);
    if (comparison->has_problems)
        fputs(",correct,problems,reached_90", stream);
    fputs(",folder\n", stream);
}

static void write_run(FILE *stream, const struct comparison *comparison, const struct record *record)
{
    bool scored = record_finished(record) && !record->diverged;
    csv_text(stream, record->arm);
    fprintf(stream, ",%" PRId64 ",%s,%" PRId64, record->seed, status_of(record), record->done);
    for (int measure = 0; measure < MEASURES; measure++) {
        if (!has_column(comparison, measure))
            continue;
        fputc(',', stream);
        csv_number(stream, scored ? record_measure(record, (enum measure)measure) : (double)NAN);
    }
    if (comparison->has_problems && scored) {
        const struct record_evaluation *last = record_last_evaluation(record);
        fprintf(stream, ",%" PRId64 ",%" PRId64 ",%d", last->correct, last->problems,
                record_steps_to(record, 0.9) != NOT_REACHED);
    } else if (comparison->has_problems) {
        fputs(",,,", stream);
    }
    fputc(',', stream);
    csv_text(stream, record->folder);
    fputc('\n', stream);
}

static void write_runs(FILE *stream, const struct collection *collection)
{
    write_head(stream, collection->comparison);
    for (int i = 0; i < collection->record_count; i++)
        write_run(stream, collection->comparison, &collection->records[i]);
}

/* ---- arms, contrasts, pairs: of each measure ---- */

/* Numbers, each after a comma. */
static void write_numbers(FILE *stream, const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        fputc(',', stream);
        csv_number(stream, values[i]);
    }
}

/* A baseline is one number: its mean. */
static void write_baselines(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    const struct example_scores *scores = predictions_of(comparison, measure);
    for (int i = 0; scores && i < LABEL_BASELINES; i++) {
        fprintf(stream, "%s,%s,,,", measure_names[measure], label_baseline_title(i, scores->choices));
        csv_number(stream, scores->baselines[i]);
        fputs(",,,,,,,\n", stream);
    }
}

static void write_arms(FILE *stream, const struct comparison *comparison)
{
    fputs("measure,arm,runs,diverged,mean,median,standard_deviation,min,max,without_worst,low,high\n",
          stream);
    for (int i = 0; i < comparison->measure_count; i++) {
        for (int j = 0; j < comparison->arm_count; j++) {
            const struct comparison_arm *arm = &comparison->arms[j];
            const struct statistics *of = &arm->statistics[comparison->measures[i]];
            const double values[] = {of->mean, of->median,        of->deviation, of->min,
                                     of->max,  of->without_worst, of->low,       of->high};
            fprintf(stream, "%s,", measure_names[comparison->measures[i]]);
            csv_text(stream, arm->name);
            fprintf(stream, ",%d,%d", arm->run_count, arm->diverged_count);
            write_numbers(stream, values, sizeof values / sizeof values[0]);
            fputc('\n', stream);
        }
        write_baselines(stream, comparison, comparison->measures[i]);
    }
}

/* "validation_loss,roper,rope". */
static void write_subject(FILE *stream, const struct comparison *comparison, const struct contrast *contrast,
                          enum measure measure)
{
    fprintf(stream, "%s,", measure_names[measure]);
    csv_text(stream, comparison->arms[contrast->arm].name);
    fputc(',', stream);
    csv_text(stream, comparison->arms[contrast->baseline].name);
}

/* Only the primary measure has a joint p value and a verdict. */
static void write_contrasts(FILE *stream, const struct comparison *comparison)
{
    fputs("measure,arm,baseline,pairs,mean,median,standard_deviation,level,low,high,t_test_p,sign_flip_p,"
          "sign_flip_min_p,adjusted_p,verdict\n",
          stream);
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < comparison->contrast_count; j++) {
            const struct contrast *contrast = &comparison->contrasts[j];
            const struct paired_difference *of = &contrast->difference[comparison->measures[i]];
            const double values[] = {of->mean,
                                     of->median,
                                     of->deviation,
                                     of->level,
                                     of->low,
                                     of->high,
                                     of->t_test_p,
                                     of->sign_flip_p,
                                     of->sign_flip_min_p,
                                     i == 0 ? contrast->adjusted_p : (double)NAN};
            write_subject(stream, comparison, contrast, comparison->measures[i]);
            fprintf(stream, ",%d", contrast->pair_count);
            write_numbers(stream, values, sizeof values / sizeof values[0]);
            fprintf(stream, ",%s\n", i == 0 ? verdict_words[comparison_decide(comparison, contrast)] : "");
        }
}

static void write_pairs(FILE *stream, const struct comparison *comparison)
{
    fputs("measure,arm,baseline,seed,difference,arm_value,baseline_value\n", stream);
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < comparison->contrast_count; j++) {
            const struct contrast *contrast = &comparison->contrasts[j];
            enum measure measure = comparison->measures[i];
            for (int k = 0; k < contrast->pair_count; k++) {
                const struct contrast_pair *pair = &contrast->pairs[k];
                const double values[] = {contrast->differences[measure][k],
                                         comparison_score(comparison, pair->arm, measure),
                                         comparison_score(comparison, pair->baseline, measure)};
                write_subject(stream, comparison, contrast, measure);
                fprintf(stream, ",%" PRId64, pair->seed);
                write_numbers(stream, values, sizeof values / sizeof values[0]);
                fputc('\n', stream);
            }
        }
}

/* ---- other lengths, and positions in their sequences ---- */

/* "rope,1,yarn,512". */
static void write_scored(FILE *stream, const struct record *record, const struct record_length *length)
{
    csv_text(stream, record->arm);
    fprintf(stream, ",%" PRId64 ",%s,%" PRId64, record->seed, length->scaling, length->length);
}

/* A loss, and the perplexity that it is. */
static void write_loss(FILE *stream, double loss)
{
    const double values[] = {loss, exp(loss)};
    write_numbers(stream, values, 2);
}

static void write_length(FILE *stream, const struct record *record, const struct record_length *length)
{
    write_scored(stream, record, length);
    if (length->problems > 0)
        fprintf(stream, ",%" PRId64 ",%" PRId64, length->correct, length->problems);
    else
        fputs(",,", stream);
    write_loss(stream, length->possible ? length->loss : (double)NAN);
    write_numbers(stream, (const double[]){length->bits_per_byte > 0 ? length->bits_per_byte : (double)NAN},
                  1);
    fputc('\n', stream);
}

static void write_positions(FILE *stream, const struct record *record, const struct record_length *length)
{
    const struct position_losses *losses = &length->positions;
    for (int bin = 0; bin < position_bins(losses->length); bin++) {
        write_scored(stream, record, length);
        fprintf(stream, ",%" PRId64 ",%" PRId64, position_begin(losses->length, bin),
                losses->bins[bin].counted);
        write_loss(stream, position_loss(losses, bin));
        fputc('\n', stream);
    }
}

void lengths_csv(FILE *stream, const struct record *records, int count, enum csv_table table)
{
    const bool positions = table == CSV_POSITIONS;
    fprintf(stream, "arm,seed,scaling,length,%s\n",
            positions ? "begin,tokens,loss,perplexity" : "correct,problems,loss,perplexity,bits_per_byte");
    for (int i = 0; i < count; i++)
        for (int j = 0; j < records[i].lengths.count; j++)
            (positions ? write_positions : write_length)(stream, &records[i], &records[i].lengths.items[j]);
}

const char *const csv_table_names[] = {"runs", "arms", "contrasts", "pairs", "lengths", "positions", NULL};

rotary_status comparison_csv(const struct collection *collection, enum csv_table table, char **text,
                             rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    switch (table) {
    case CSV_RUNS:
        write_runs(print.stream, collection);
        break;
    case CSV_ARMS:
        write_arms(print.stream, collection->comparison);
        break;
    case CSV_CONTRASTS:
        write_contrasts(print.stream, collection->comparison);
        break;
    case CSV_PAIRS:
        write_pairs(print.stream, collection->comparison);
        break;
    case CSV_LENGTHS:
    case CSV_POSITIONS:
        lengths_csv(print.stream, collection->records, collection->record_count, table);
        break;
    }
    status = print_end(&print, error);
    *text = print.text;
    return status;
}
