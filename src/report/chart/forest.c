/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/forest.h"

#include "report/chart/chart_names.h"
#include "report/chart/charts.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/interval_text.h"

#include <math.h>
#include <stdio.h>

/* Columns of a wide plot, heights of rows and places in them, and what is above and below. */
enum {
    NARROW_WORDS = 27, /* above dots and interval */
    NUMBERS = 590,
    VERDICTS = 796,
    WIDE_ROW = 40,
    NARROW_ROW = 80,
    FIRST_LINE = 14,
    NEXT_LINE = 17,
    ABOVE = 40,
    BELOW = 48
};

struct forest {
    FILE *stream;
    const struct comparison *comparison;
    enum measure measure;
    bool narrow;
    double row; /* the height of one */
    struct svg_frame frame;
    struct svg_scale across;
};

/* ---- the scale ---- */

/* Includes zero, the baseline. */
static void set_scale(struct forest *forest)
{
    struct svg_scale *across = &forest->across;
    *across = (struct svg_scale){.from = forest->frame.left + 8, .to = forest->frame.right - 8};
    for (int i = 0; i < forest->comparison->contrast_count; i++) {
        const struct contrast *contrast = &forest->comparison->contrasts[i];
        for (int j = 0; j < contrast->pair_count; j++)
            svg_widen_range(&across->low, &across->high, contrast->differences[forest->measure][j]);
        svg_widen_range(&across->low, &across->high, contrast->difference[forest->measure].low);
        svg_widen_range(&across->low, &across->high, contrast->difference[forest->measure].high);
    }
    svg_round_range(&across->low, &across->high);
}

/* ---- rows ---- */

static double row_top(const struct forest *forest, int row)
{
    return forest->frame.top + row * forest->row;
}

/* Where dots and interval are: the middle of a row, below its words in a narrow plot. */
static double row_y(const struct forest *forest, int row)
{
    return row_top(forest, row) + (forest->narrow ? forest->row - 22 : forest->row / 2);
}

static void draw_pairs(const struct forest *forest, int row)
{
    const struct contrast *contrast = &forest->comparison->contrasts[row];
    const double *values = contrast->differences[forest->measure];
    for (int i = 0; i < contrast->pair_count; i++) {
        char title[160], number[HTML_NUMBER_BYTES];
        if (!isfinite(values[i]))
            continue;
        snprintf(title, sizeof title, "seed %lld: %s", (long long)contrast->pairs[i].seed,
                 html_number(number, values[i], measure_descriptions[forest->measure].decimals, 1));
        svg_marker(forest->stream, contrast->arm, svg_place(forest->across, values[i]),
                   row_y(forest, row) - 8 - fabs(scores_offset(forest->across, values, i, 8)) / 3, 8, title);
    }
}

static void draw_interval(const struct forest *forest, int row)
{
    const struct contrast *contrast = &forest->comparison->contrasts[row];
    const struct paired_difference *difference = &contrast->difference[forest->measure];
    const double y = row_y(forest, row) + 7;
    if (difference->count == 0 || !isfinite(difference->mean))
        return;
    if (isfinite(difference->low)) {
        const double low = svg_place(forest->across, difference->low),
                     high = svg_place(forest->across, difference->high);
        svg_arm_line(forest->stream, "interval", contrast->arm, (const double[]){low, y, high, y});
        svg_arm_line(forest->stream, "interval", contrast->arm, (const double[]){low, y - 5, low, y + 5});
        svg_arm_line(forest->stream, "interval", contrast->arm, (const double[]){high, y - 5, high, y + 5});
    }
    const double mean = svg_place(forest->across, difference->mean);
    svg_arm_line(forest->stream, "mean", contrast->arm, (const double[]){mean, y - 9, mean, y + 9});
}

/* Whether every contrast is with the first arm. */
static bool has_one_baseline(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->contrast_count; i++)
        if (comparison->contrasts[i].baseline != 0)
            return false;
    return true;
}

/* The arm's name; below it that of its baseline, unless that is the same for all. */
static void draw_names(const struct forest *forest, int row)
{
    const struct comparison *comparison = forest->comparison;
    const struct contrast *contrast = &comparison->contrasts[row];
    const bool one = has_one_baseline(comparison);
    const double y = forest->narrow ? row_top(forest, row) + FIRST_LINE : row_y(forest, row) - (one ? 0 : 9);
    chart_name(forest->stream, comparison, contrast->arm, 2, y);
    if (!one)
        chart_name(forest->stream, comparison, contrast->baseline, 2, y + NEXT_LINE);
}

/* The mean with its interval, and the verdict in words. */
static void draw_words(const struct forest *forest, int row)
{
    const struct contrast *contrast = &forest->comparison->contrasts[row];
    const char *word = verdict_word(forest->comparison, contrast);
    const double y = row_y(forest, row) + 4.5;
    char text[INTERVAL_BYTES], class[32];
    snprintf(class, sizeof class, "value %s", svg_arm_class(contrast->arm));
    difference_html(text, &contrast->difference[forest->measure],
                    measure_descriptions[forest->measure].decimals);
    if (forest->narrow) {
        svg_text(forest->stream, class, "end", SVG_NARROW - 2, row_top(forest, row) + FIRST_LINE + 4.5, word);
        svg_text(forest->stream, class, "start", 2, y - NARROW_WORDS, text);
    } else {
        svg_text(forest->stream, class, "start", NUMBERS, y, text);
        svg_text(forest->stream, class, "start", VERDICTS, y, word);
    }
}

/* ---- the plot ---- */

/* Labels the wider side of zero: better or worse than the baseline. */
static void draw_zero(const struct forest *forest)
{
    const struct comparison *comparison = forest->comparison;
    const double zero = svg_place(forest->across, 0), top = forest->frame.top;
    const bool higher = measure_descriptions[forest->measure].better == HIGHER_IS_BETTER;
    const bool right_side =
        higher ? forest->across.high >= -forest->across.low : forest->across.high > -forest->across.low;
    char text[CHART_LABEL_BYTES + 64], words[CHART_LABEL_BYTES + 32], baseline[CHART_LABEL_BYTES];
    svg_line(forest->stream, "zero", zero, top - 8, zero, forest->frame.bottom);
    chart_label(baseline, comparison, 0);
    snprintf(words, sizeof words, has_one_baseline(comparison) ? "%s than %s" : "%s",
             right_side == higher ? "better" : "worse", baseline);
    snprintf(text, sizeof text, right_side ? "%s →" : "← %s", words);
    svg_text(forest->stream, "name", right_side ? "start" : "end", zero + (right_side ? 6 : -6), top - 14,
             text);
}

static const char *axis_name(enum measure measure)
{
    switch (measure) {
    case MEASURE_EXACT_MATCH:
        return "difference, points of exact match";
    case MEASURE_STEPS_TO_90:
        return "difference, steps to 90%";
    case MEASURE_BLEU:
        return "difference, BLEU";
    case MEASURE_VALIDATION_LOSS:
    case MEASURE_VALIDATION_LOSS_AREA:
        return "difference, nats per token";
    case MEASURE_BITS_PER_BYTE:
        return "difference, bits per byte";
    default:
        return measure_descriptions[measure].unit;
    }
}

static struct forest forest_of(FILE *stream, const struct comparison *comparison, bool narrow)
{
    const double row = !narrow                        ? WIDE_ROW
                       : has_one_baseline(comparison) ? NARROW_ROW
                                                      : NARROW_ROW + NEXT_LINE;
    struct forest forest = {.stream = stream,
                            .comparison = comparison,
                            .measure = comparison->measures[0],
                            .narrow = narrow,
                            .row = row};
    forest.frame = (struct svg_frame){.left = narrow ? 2 : 24 + chart_name_width(comparison),
                                      .right = narrow ? SVG_NARROW - 2 : NUMBERS - 20,
                                      .top = ABOVE,
                                      .bottom = ABOVE + comparison->contrast_count * row};
    set_scale(&forest);
    return forest;
}

void forest_draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct forest forest = forest_of(stream, argument, look.narrow);
    svg_begin(stream, &(struct svg_drawing){.width = look.narrow ? SVG_NARROW : SVG_WIDE,
                                            .height = (int)forest.frame.bottom + BELOW,
                                            .label = "paired differences with their intervals",
                                            .look = look});
    svg_axis_below(stream, forest.frame, forest.across, axis_name(forest.measure));
    draw_zero(&forest);
    if (!look.narrow) {
        svg_text(stream, "name", "start", NUMBERS, ABOVE - 14, "mean [interval]");
        svg_text(stream, "name", "start", VERDICTS, ABOVE - 14, "verdict");
    }
    for (int i = 0; i < forest.comparison->contrast_count; i++) {
        draw_names(&forest, i);
        draw_words(&forest, i);
        draw_pairs(&forest, i);
        draw_interval(&forest, i);
    }
    svg_end(stream);
}

/* ---- values ---- */

static void write_value(FILE *stream, const struct comparison *comparison, const struct contrast *contrast,
                        const char *what, double value)
{
    csv_text_html(stream, comparison->arms[contrast->arm].name);
    fputc(',', stream);
    csv_text_html(stream, comparison->arms[contrast->baseline].name);
    fprintf(stream, ",%s,", what);
    csv_number(stream, value);
    fputc('\n', stream);
}

void forest_csv(FILE *stream, const void *argument)
{
    const struct comparison *comparison = argument;
    const enum measure measure = comparison->measures[0];
    fputs("arm,baseline,seed,difference\n", stream);
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[measure];
        for (int j = 0; j < contrast->pair_count; j++) {
            char seed[32];
            snprintf(seed, sizeof seed, "%lld", (long long)contrast->pairs[j].seed);
            write_value(stream, comparison, contrast, seed, contrast->differences[measure][j]);
        }
        if (difference->count == 0)
            continue;
        write_value(stream, comparison, contrast, "mean", difference->mean);
        write_value(stream, comparison, contrast, "low", difference->low);
        write_value(stream, comparison, contrast, "high", difference->high);
    }
}
