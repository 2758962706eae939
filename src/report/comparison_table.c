/* SPDX-License-Identifier: Apache-2.0 */
#include "report/comparison_table.h"

#include "base/fail.h"
#include "file/print.h"
#include "report/cost.h"
#include "report/findings.h"
#include "report/interval_text.h"
#include "report/lengths.h"
#include "report/prediction/predictions.h"
#include "report/prediction/sentences.h"
#include "report/text_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A name that is longer has a line of its own, above its numbers. Lines of differences end by LINE_WIDTH. */
enum { MAX_NAME_WIDTH = 28, LINE_WIDTH = 100 };

struct table {
    FILE *stream;
    const struct comparison *comparison;
    enum measure measure;
    int name_width, decimals;
};

static void write_number(const struct table *table, int width, double value)
{
    if (isnan(value))
        fprintf(table->stream, "  %*s", width, "-");
    else
        fprintf(table->stream, "  %*.*f", width, table->decimals, value);
}

static int width_of_contrast(const struct comparison *comparison, const struct contrast *contrast)
{
    return (int)(strlen(comparison->arms[contrast->arm].name) + strlen(" - ") +
                 strlen(comparison->arms[contrast->baseline].name));
}

/* The first column is as wide as its longest name that is not too long. */
static int name_width(const struct comparison *comparison)
{
    int width = (int)strlen(predictions_scores(comparison) ? "bag of words" : "difference");
    for (int i = 0; i < comparison->arm_count + comparison->contrast_count; i++) {
        int length = i < comparison->arm_count
                         ? (int)strlen(comparison->arms[i].name)
                         : width_of_contrast(comparison, &comparison->contrasts[i - comparison->arm_count]);
        if (length <= MAX_NAME_WIDTH && length > width)
            width = length;
    }
    return width;
}

/* Ends the first column, of which `length` is written. */
static void end_name(const struct table *table, int length)
{
    if (length > table->name_width) {
        fputc('\n', table->stream);
        length = 0;
    }
    fprintf(table->stream, "%*s", table->name_width - length, "");
}

/* "600 (2 of 3)"; "> 600 (1 of 3)" if half of the runs or more did not reach the goal within 600 steps. */
static void write_reached(FILE *stream, const struct reached *reached, int64_t steps)
{
    char text[64] = "-";
    if (reached->count && isinf(reached->median))
        snprintf(text, sizeof text, "> %lld (%d of %d)", (long long)steps, reached->reached, reached->count);
    else if (reached->count)
        snprintf(text, sizeof text, "%.0f (%d of %d)", reached->median, reached->reached, reached->count);
    fprintf(stream, "  %18s", text);
}

/* A baseline is one number. */
static void write_baselines(const struct table *table)
{
    const struct example_scores *scores = predictions_of(table->comparison, table->measure);
    for (int i = 0; scores && i < LABEL_BASELINES; i++) {
        fprintf(table->stream, "%-*s  %4s", table->name_width, label_baseline_title(i, scores->choices), "-");
        write_number(table, 8, scores->baselines[i]);
        fputc('\n', table->stream);
    }
}

static void write_arms(const struct table *table)
{
    const struct comparison *comparison = table->comparison;
    bool times = table->measure == MEASURE_STEPS_TO_90;
    const char *head = arm_heading(comparison);
    head = (int)strlen(head) <= table->name_width ? head : "arm";
    fprintf(table->stream, "%-*s  runs  %8s  %8s  %8s  %8s  %8s  %9s", table->name_width, head, "mean",
            "median", "st. dev.", "min", "max", "w/o worst");
    fprintf(table->stream, times ? "  %18s\n" : "\n", "median (reached)");
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        const struct statistics *statistics = &arm->statistics[table->measure];
        fputs(arm->name, table->stream);
        end_name(table, (int)strlen(arm->name));
        fprintf(table->stream, "  %4d", arm->run_count);
        write_number(table, 8, statistics->mean);
        write_number(table, 8, statistics->median);
        write_number(table, 8, statistics->deviation);
        write_number(table, 8, statistics->min);
        write_number(table, 8, statistics->max);
        write_number(table, 9, statistics->without_worst);
        if (times)
            write_reached(table->stream, &arm->reached, comparison->steps);
        fputc('\n', table->stream);
    }
    write_baselines(table);
}

/* The difference of every pair, in as many lines as it takes. */
static void write_pairs(const struct table *table, const struct contrast *contrast)
{
    int column = fprintf(table->stream, "  by seed:");
    for (int i = 0; i < contrast->pair_count; i++) {
        char text[64];
        int length =
            snprintf(text, sizeof text, " %lld: %+.*f%s", (long long)contrast->pairs[i].seed, table->decimals,
                     contrast->differences[table->measure][i], i + 1 < contrast->pair_count ? "," : "");
        if (column + length > LINE_WIDTH)
            column = fprintf(table->stream, "\n          ") - 1;
        column += length;
        fputs(text, table->stream);
    }
    fputc('\n', table->stream);
}

static void write_interval(const struct table *table, const struct paired_difference *difference)
{
    char text[INTERVAL_BYTES + SHORT_NUMBER_BYTES] = "-", level[SHORT_NUMBER_BYTES], interval[INTERVAL_BYTES];
    if (!isnan(difference->low))
        snprintf(text, sizeof text, "%s %s", level_text(level, difference->level),
                 interval_text(interval, difference->low, difference->high, table->decimals, true));
    fprintf(table->stream, "  %-24s", text);
}

static void write_contrast(const struct table *table, const struct contrast *contrast, bool corrected)
{
    const struct comparison *comparison = table->comparison;
    const struct paired_difference *difference = &contrast->difference[table->measure];
    char p[SHORT_NUMBER_BYTES];
    fprintf(table->stream, "%s - %s", comparison->arms[contrast->arm].name,
            comparison->arms[contrast->baseline].name);
    end_name(table, width_of_contrast(comparison, contrast));
    fprintf(table->stream, " %5d", difference->count);
    if (difference->count && !isnan(difference->mean))
        fprintf(table->stream, "  %+8.*f", table->decimals, difference->mean);
    else
        fprintf(table->stream, "  %8s", "-");
    write_number(table, 8, difference->count ? difference->deviation : (double)NAN);
    write_interval(table, difference);
    fprintf(table->stream, "  %8s", p_text(p, difference->sign_flip_p));
    fprintf(table->stream, "  %8s", p_text(p, difference->count ? difference->sign_flip_min_p : (double)NAN));
    if (corrected)
        fprintf(table->stream, "  %11s", p_text(p, contrast->adjusted_p));
    if (table->measure == MEASURE_STEPS_TO_90)
        fprintf(table->stream, "  %8d", contrast->censored);
    fputc('\n', table->stream);
    if (difference->count && !isnan(difference->mean))
        write_pairs(table, contrast);
}

static void write_contrasts(const struct table *table)
{
    const struct comparison *comparison = table->comparison;
    bool corrected = table->measure == comparison->measures[0] && comparison->contrast_count > 1;
    fprintf(table->stream, "%-*s pairs  %8s  %8s  %-24s  %8s  %8s", table->name_width, "difference", "mean",
            "st. dev.", "interval", "p", "least p");
    if (corrected)
        fprintf(table->stream, "  %11s", "joint p");
    if (table->measure == MEASURE_STEPS_TO_90)
        fprintf(table->stream, "  %8s", "censored");
    fputc('\n', table->stream);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_contrast(table, &comparison->contrasts[i], corrected);
}

static void write_table(FILE *stream, const struct comparison *comparison, int index)
{
    enum measure measure = comparison->measures[index];
    const struct measure_description *description = &measure_descriptions[measure];
    struct table table = {stream, comparison, measure, name_width(comparison), description->decimals};
    if (measure == MEASURE_EXACT_MATCH)
        fprintf(stream, "exact match, %% of %lld problems", (long long)comparison->problems);
    else
        fputs(description->title, stream);
    if (measure_label(measure) != LABEL_SCORES)
        fprintf(stream, ", on %lld examples of the %s set", (long long)comparison->examples,
                comparison->test ? "test" : "validation");
    fprintf(stream, " (%s%s is better)\n", index ? "" : "the primary measure; ",
            description->better == HIGHER_IS_BETTER ? "higher" : "lower");
    write_arms(&table);
    if (comparison->contrast_count)
        write_contrasts(&table);
    if (measure == MEASURE_BLEU)
        sentences_text(stream, comparison);
    predictions_text(stream, comparison, measure);
}

/* A line for each finding, and an empty one after them. */
static void write_findings(FILE *stream, const struct comparison *comparison, const struct findings *findings)
{
    if (comparison->unlike)
        fprintf(stream, "not alike: %s\n", comparison->unlike);
    for (int i = 0; i < findings->verdicts.count; i++)
        fprintf(stream, "%s\n", findings->verdicts.items[i]);
    for (int i = 0; i < findings->powers.count; i++)
        if (*findings->powers.items[i])
            fprintf(stream, "%s\n", findings->powers.items[i]);
    for (int i = 0; i < findings->notes.count; i++)
        fprintf(stream, "%s\n", findings->notes.items[i]);
    if (comparison->unfinished)
        fprintf(stream, "%d unfinished run%s not counted\n", comparison->unfinished,
                comparison->unfinished == 1 ? "" : "s");
    if (comparison->unlike || findings->verdicts.count || findings->notes.count || comparison->unfinished)
        fputc('\n', stream);
}

rotary_status comparison_text(const struct comparison *comparison, char **text, rotary_error *error)
{
    struct print print;
    struct findings findings;
    rotary_status status = findings_create(&findings, comparison, error);
    if (status != ROTARY_OK)
        return status;
    status = print_begin(&print, error);
    if (status == ROTARY_OK) {
        write_findings(print.stream, comparison, &findings);
        for (int i = 0; i < comparison->measure_count; i++) {
            if (i > 0)
                fputc('\n', print.stream);
            write_table(print.stream, comparison, i);
        }
        if (text_scores_are_known(comparison))
            text_scores_text(print.stream, comparison);
        if (cost_is_known(comparison))
            cost_text(print.stream, comparison);
        if (lengths_are_known(comparison))
            lengths_text(print.stream, comparison);
        status = print_end(&print, error);
        if (status == ROTARY_OK)
            rotary_replace_control(print.text, true); /* names come from files */
        *text = print.text;
    }
    findings_free(&findings);
    return status;
}
