/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lengths.h"

#include "file/file.h"
#include "records/record_positions.h"
#include "report/chart/chart_names.h"
#include "report/chart/position_chart.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/html.h"

#include "statistics/binomial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 32, MAX_SCALINGS = 8, NAME_BYTES = 256 };

/* The lengths and scalings of all runs. */
struct found {
    int64_t lengths[MAX_COLUMNS]; /* ascending */
    int length_count;
    const char *scalings[MAX_SCALINGS]; /* as they come; borrowed */
    int scaling_count;
};

static void add_length(struct found *found, int64_t length)
{
    int at = 0;
    while (at < found->length_count && found->lengths[at] < length)
        at++;
    if (found->length_count == MAX_COLUMNS || (at < found->length_count && found->lengths[at] == length))
        return;
    memmove(&found->lengths[at + 1], &found->lengths[at],
            (size_t)(found->length_count++ - at) * sizeof *found->lengths);
    found->lengths[at] = length;
}

static void add_scaling(struct found *found, const char *scaling)
{
    for (int i = 0; i < found->scaling_count; i++)
        if (strcmp(found->scalings[i], scaling) == 0)
            return;
    if (found->scaling_count < MAX_SCALINGS)
        found->scalings[found->scaling_count++] = scaling;
}

static const struct record_lengths *lengths_of(const struct comparison *comparison, int arm, int run)
{
    return &comparison->records[comparison->arms[arm].runs[run]].lengths;
}

static struct found find_all(const struct comparison *comparison)
{
    struct found found = {0};
    for (int arm = 0; arm < comparison->arm_count; arm++)
        for (int run = 0; run < comparison->arms[arm].run_count; run++) {
            const struct record_lengths *lengths = lengths_of(comparison, arm, run);
            for (int i = 0; i < lengths->count; i++) {
                add_length(&found, lengths->items[i].length);
                add_scaling(&found, lengths->items[i].scaling);
            }
        }
    return found;
}

bool lengths_are_known(const struct comparison *comparison)
{
    return find_all(comparison).length_count > 0;
}

/* What is shown of a text besides the score. */
enum view { VIEW_SCORE, VIEW_PERPLEXITY, VIEW_BITS_PER_BYTE, VIEWS };

/* Exact match in percent, or the validation loss; bits per byte; NaN: not known. */
static double value_of(const struct record_length *found, enum view view)
{
    if (view == VIEW_BITS_PER_BYTE)
        return found->bits_per_byte > 0 ? found->bits_per_byte : (double)NAN;
    return found->problems > 0 ? 100.0 * (double)found->correct / (double)found->problems : found->loss;
}

/* The mean of the runs of an arm. */
struct length_mean {
    int runs;    /* that were scored, or cannot be */
    double mean; /* NaN: none could */
};

/* The perplexity is the exponential of the mean loss. */
static struct length_mean mean_of(const struct comparison *comparison, int arm, int64_t length,
                                  const char *scaling, enum view view)
{
    struct length_mean mean = {0};
    double sum = 0;
    int scored = 0;
    for (int run = 0; run < comparison->arms[arm].run_count; run++) {
        const struct record_length *found =
            record_lengths_find(lengths_of(comparison, arm, run), length, scaling);
        mean.runs += found != NULL;
        if (!found || !found->possible)
            continue;
        scored++;
        sum += value_of(found, view);
    }
    mean.mean = scored > 0 ? sum / scored : (double)NAN;
    if (view == VIEW_PERPLEXITY)
        mean.mean = exp(mean.mean);
    return mean;
}

/* Perplexities and bits per byte are of texts. */
static bool has_view(const struct comparison *comparison, enum view view)
{
    bool has = view == VIEW_SCORE;
    for (int arm = 0; arm < comparison->arm_count; arm++)
        for (int run = 0; run < comparison->arms[arm].run_count; run++) {
            const struct record_lengths *lengths = lengths_of(comparison, arm, run);
            for (int i = 0; i < lengths->count; i++)
                has |= view == VIEW_PERPLEXITY ? lengths->items[i].positions.length > 0
                                               : lengths->items[i].bits_per_byte > 0;
        }
    return has;
}

static enum measure measure_of(const struct comparison *comparison)
{
    return comparison->has_problems ? MEASURE_EXACT_MATCH : MEASURE_VALIDATION_LOSS;
}

static const char *title_of(const struct comparison *comparison, enum view view)
{
    return view == VIEW_PERPLEXITY      ? "perplexity"
           : view == VIEW_BITS_PER_BYTE ? "bits per byte"
                                        : measure_descriptions[measure_of(comparison)].title;
}

static int decimals_of(const struct comparison *comparison, enum view view)
{
    return view == VIEW_PERPLEXITY      ? 3
           : view == VIEW_BITS_PER_BYTE ? 4
                                        : measure_descriptions[measure_of(comparison)].decimals;
}

/* Whether a row has something to say: without a scaling each has. */
static bool has_row(const struct comparison *comparison, const struct found *found, int arm, int scaling)
{
    bool says = false;
    for (int i = 0; i < found->length_count; i++) {
        const struct length_mean mean =
            mean_of(comparison, arm, found->lengths[i], found->scalings[scaling], VIEW_SCORE);
        says = says || !isnan(mean.mean) || (mean.runs > 0 && strcmp(found->scalings[scaling], "none") == 0);
    }
    return says;
}

/* "rope", or "rope, yarn". */
static const char *row_name(char name[NAME_BYTES], const struct comparison *comparison, int arm,
                            const char *scaling)
{
    const bool plain = strcmp(scaling, "none") == 0;
    snprintf(name, NAME_BYTES, "%.200s%s%.20s", comparison->arms[arm].name, plain ? "" : ", ",
             plain ? "" : scaling);
    return name;
}

/* Calls `write` for each row, the scalings of an arm one after another. */
struct rows {
    FILE *stream;
    const struct comparison *comparison;
    const struct found *found;
    enum view view;
    int name_width;
    void (*write)(struct rows *rows, int arm, const char *scaling);
    struct page_table *table; /* of the page */
};

static void each_row(struct rows *rows)
{
    for (int arm = 0; arm < rows->comparison->arm_count; arm++)
        for (int scaling = 0; scaling < rows->found->scaling_count; scaling++)
            if (has_row(rows->comparison, rows->found, arm, scaling))
                rows->write(rows, arm, rows->found->scalings[scaling]);
}

/* ---- text and JSON ---- */

static void widen_name(struct rows *rows, int arm, const char *scaling)
{
    char name[NAME_BYTES];
    const int width = (int)strlen(row_name(name, rows->comparison, arm, scaling));
    rows->name_width = width > rows->name_width ? width : rows->name_width;
}

static void write_text(struct rows *rows, int arm, const char *scaling)
{
    const int decimals = decimals_of(rows->comparison, rows->view);
    char name[NAME_BYTES];
    fprintf(rows->stream, "%-*s", rows->name_width, row_name(name, rows->comparison, arm, scaling));
    for (int i = 0; i < rows->found->length_count; i++) {
        const double mean = mean_of(rows->comparison, arm, rows->found->lengths[i], scaling, rows->view).mean;
        if (isnan(mean))
            fprintf(rows->stream, "  %8s", "-");
        else
            fprintf(rows->stream, "  %8.*f", decimals, mean);
    }
    fputc('\n', rows->stream);
}

void lengths_text(FILE *stream, const struct comparison *comparison)
{
    const struct found found = find_all(comparison);
    struct rows rows = {.stream = stream,
                        .comparison = comparison,
                        .found = &found,
                        .name_width = (int)strlen("tokens"),
                        .write = widen_name};
    each_row(&rows);
    rows.write = write_text;
    for (; rows.view < VIEWS; rows.view++) {
        if (!has_view(comparison, rows.view))
            continue;
        fprintf(stream, "\nother lengths, mean %s\n", title_of(comparison, rows.view));
        fprintf(stream, "%-*s", rows.name_width, "tokens");
        for (int i = 0; i < found.length_count; i++)
            fprintf(stream, "  %8lld", (long long)found.lengths[i]);
        fputc('\n', stream);
        each_row(&rows);
    }
}

/* Finds the scores of an arm at a length; NULL: no run was scored there. */
static json_t *length_json(const struct comparison *comparison, int arm, int64_t length, const char *scaling)
{
    const struct length_mean mean = mean_of(comparison, arm, length, scaling, VIEW_SCORE);
    struct position_losses losses;
    if (mean.runs == 0)
        return NULL;
    json_t *object = json_pack("{s:I, s:s, s:i, s:o}", "length", (json_int_t)length, "scaling", scaling,
                               "runs", mean.runs, "mean", file_json_number(mean.mean));
    for (enum view view = VIEW_PERPLEXITY; view < VIEWS; view++)
        if (has_view(comparison, view))
            json_object_set_new(object, view == VIEW_PERPLEXITY ? "perplexity" : "bits_per_byte",
                                file_json_number(mean_of(comparison, arm, length, scaling, view).mean));
    if (positions_of(comparison, arm, length, scaling, &losses))
        json_object_set_new(object, "positions", record_positions_json(&losses));
    return object;
}

json_t *lengths_json(const struct comparison *comparison, int arm)
{
    const struct found found = find_all(comparison);
    json_t *list = json_array();
    for (int i = 0; i < found.length_count; i++)
        for (int j = 0; j < found.scaling_count; j++) {
            json_t *one = length_json(comparison, arm, found.lengths[i], found.scalings[j]);
            if (one)
                json_array_append_new(list, one);
        }
    return list;
}

/* ---- differences ---- */

/* The pairs of a contrast that are both scored at a length. */
struct scored_pairs {
    int count;
    double *differences;
    struct exact_match_pair *problems;
};

static void add_pair(struct scored_pairs *scored, const struct record_length *arm,
                     const struct record_length *baseline)
{
    if (!arm || !baseline || !arm->possible || !baseline->possible)
        return;
    scored->problems[scored->count] =
        (struct exact_match_pair){arm->correct, baseline->correct, arm->problems};
    scored->differences[scored->count++] = value_of(arm, VIEW_SCORE) - value_of(baseline, VIEW_SCORE);
}

/* The object; NULL without pairs. */
static json_t *difference_json(const struct comparison *comparison, const struct contrast *contrast,
                               int64_t length, const char *scaling, struct scored_pairs *scored)
{
    scored->count = 0;
    for (int i = 0; i < contrast->pair_count; i++) {
        const struct contrast_pair *pair = &contrast->pairs[i];
        add_pair(scored, record_lengths_find(&comparison->records[pair->arm].lengths, length, scaling),
                 record_lengths_find(&comparison->records[pair->baseline].lengths, length, scaling));
    }
    if (scored->count == 0)
        return NULL;
    struct paired_difference difference = statistics_paired(scored->differences, scored->count);
    if (comparison->has_problems) {
        statistics_add_noise(&difference, exact_match_noise(scored->problems, scored->count));
        statistics_keep_within(&difference, measure_largest_difference(MEASURE_EXACT_MATCH));
    }
    return json_pack("{s:I, s:s, s:i, s:o, s:o, s:o}", "length", (json_int_t)length, "scaling", scaling,
                     "pairs", scored->count, "mean", file_json_number(difference.mean), "low",
                     file_json_number(difference.low), "high", file_json_number(difference.high));
}

json_t *lengths_contrast_json(const struct comparison *comparison, const struct contrast *contrast)
{
    const struct found found = find_all(comparison);
    const size_t pairs = (size_t)contrast->pair_count + 1;
    struct scored_pairs scored = {.differences = calloc(pairs, sizeof *scored.differences),
                                  .problems = calloc(pairs, sizeof *scored.problems)};
    json_t *list = scored.differences && scored.problems ? json_array() : NULL;
    for (int i = 0; list && i < found.length_count * found.scaling_count; i++) {
        json_t *one = difference_json(comparison, contrast, found.lengths[i / found.scaling_count],
                                      found.scalings[i % found.scaling_count], &scored);
        if (one)
            json_array_append_new(list, one);
    }
    free(scored.differences);
    free(scored.problems);
    return list;
}

/* ---- on the page ---- */

static void write_row(struct rows *rows, int arm, const char *scaling)
{
    char name[NAME_BYTES];
    page_table_row(rows->table, arm, row_name(name, rows->comparison, arm, scaling));
    for (int i = 0; i < rows->found->length_count; i++)
        page_table_number(rows->table,
                          mean_of(rows->comparison, arm, rows->found->lengths[i], scaling, rows->view).mean,
                          decimals_of(rows->comparison, rows->view));
}

static void write_table(struct rows *rows)
{
    char numbers[MAX_COLUMNS][HTML_NUMBER_BYTES], caption[NAME_BYTES];
    const char *heads[1 + MAX_COLUMNS] = {arm_heading(rows->comparison)};
    for (int i = 0; i < rows->found->length_count; i++)
        heads[1 + i] = html_count(numbers[i], rows->found->lengths[i]);
    snprintf(caption, sizeof caption, "Other lengths: mean %s", title_of(rows->comparison, rows->view));
    page_table_begin(rows->table, caption, heads, 1 + rows->found->length_count);
    each_row(rows);
    page_table_end(rows->table);
}

void lengths_table(struct page_table *table, const struct comparison *comparison)
{
    const struct found found = find_all(comparison);
    struct rows rows = {.comparison = comparison, .found = &found, .write = write_row, .table = table};
    for (; rows.view < VIEWS; rows.view++)
        if (has_view(comparison, rows.view))
            write_table(&rows);
    page_table_note(
        table,
        "Columns: tokens of a sequence.%s A name after that of the arm is how the rotation was scaled for "
        "sequences longer than those of training.",
        comparison->has_problems ? " A problem stands last in one." : "");
}

struct lengths_chart {
    FILE *stream;
    const struct comparison *comparison;
    const struct found *found;
    struct svg_frame frame;
    struct svg_scale up;
};

/* Lengths have equal distances, whatever they are. */
static double column_x(const struct lengths_chart *chart, int column)
{
    const double width = chart->frame.right - chart->frame.left - 16;
    const int last = chart->found->length_count - 1;
    return chart->frame.left + 8 + (last > 0 ? width * column / last : width / 2);
}

static double mean_at(const struct lengths_chart *chart, int arm, const char *scaling, int column)
{
    return mean_of(chart->comparison, arm, chart->found->lengths[column], scaling, VIEW_SCORE).mean;
}

static double point_y(const struct lengths_chart *chart, int arm, const char *scaling, int column)
{
    const double mean = mean_at(chart, arm, scaling, column);
    return isnan(mean) ? (double)NAN : svg_place(chart->up, mean);
}

/* The last point of an arm that is not scaled. */
static struct chart_end end_of(const void *argument, int arm)
{
    const struct lengths_chart *chart = argument;
    for (int column = chart->found->length_count - 1; column >= 0; column--) {
        const double y = point_y(chart, arm, "none", column);
        if (isfinite(y))
            return (struct chart_end){column_x(chart, column) + 6, y};
    }
    return (struct chart_end){(double)NAN, (double)NAN};
}

/* Thin where the rotation is scaled. */
static void draw_row(const struct lengths_chart *chart, int arm, const char *scaling)
{
    const bool plain = strcmp(scaling, "none") == 0;
    char name[NAME_BYTES];
    row_name(name, chart->comparison, arm, scaling);
    fprintf(chart->stream, "<path class=\"%s %s curve %s\" d=\"", svg_arm_class(arm), svg_dash_class(arm),
            plain ? "bold" : "thin");
    bool pen_down = false;
    for (int column = 0; column < chart->found->length_count; column++) {
        const double y = point_y(chart, arm, scaling, column);
        if (isfinite(y))
            fprintf(chart->stream, "%c%.1f %.1f", pen_down ? 'L' : 'M', column_x(chart, column), y);
        pen_down = isfinite(y);
    }
    fputs("\"><title>", chart->stream);
    html_text(chart->stream, name);
    fputs("</title></path>\n", chart->stream);
    for (int column = 0; plain && column < chart->found->length_count; column++) {
        const double y = point_y(chart, arm, scaling, column);
        if (!isfinite(y))
            continue;
        char title[2 * NAME_BYTES], length[HTML_NUMBER_BYTES], number[HTML_NUMBER_BYTES];
        snprintf(title, sizeof title, "%s, %s tokens: %s", name,
                 html_count(length, chart->found->lengths[column]),
                 html_number(number, mean_at(chart, arm, scaling, column),
                             decimals_of(chart->comparison, VIEW_SCORE), 0));
        svg_marker(chart->stream, arm, column_x(chart, column), y, 9, title);
    }
}

static void set_scale(struct lengths_chart *chart)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int arm = 0; arm < chart->comparison->arm_count; arm++)
        for (int i = 0; i < chart->found->length_count * chart->found->scaling_count; i++) {
            const int column = i / chart->found->scaling_count, scaling = i % chart->found->scaling_count;
            const double mean = mean_of(chart->comparison, arm, chart->found->lengths[column],
                                        chart->found->scalings[scaling], VIEW_SCORE)
                                    .mean;
            low = fmin(low, mean); /* of NaN and a number, the number */
            high = fmax(high, mean);
        }
    if (chart->comparison->has_problems || low > high) {
        low = 0;
        high = 100;
    }
    svg_round_range(&low, &high);
    chart->up = (struct svg_scale){low, high, chart->frame.bottom, chart->frame.top, false};
}

static void draw_axis(const struct lengths_chart *chart)
{
    char number[HTML_NUMBER_BYTES];
    for (int column = 0; column < chart->found->length_count; column++) {
        const double x = column_x(chart, column);
        svg_line(chart->stream, "grid", x, chart->frame.top, x, chart->frame.bottom);
        svg_text(chart->stream, "tick", "middle", x, chart->frame.bottom + 20,
                 html_count(number, chart->found->lengths[column]));
    }
    svg_text(chart->stream, "name", "middle", (chart->frame.left + chart->frame.right) / 2,
             chart->frame.bottom + 39, "tokens of a sequence");
}

void lengths_draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct comparison *comparison = argument;
    const struct found found = find_all(comparison);
    const char *title = measure_descriptions[measure_of(comparison)].title;
    struct lengths_chart chart = {
        .stream = stream,
        .comparison = comparison,
        .found = &found,
        .frame = chart_names_frame(comparison),
    };
    set_scale(&chart);
    svg_begin(stream, &(struct svg_drawing){.height = (int)chart.frame.bottom + CHART_BELOW,
                                            .label = "score by length of the sequence",
                                            .look = look});
    svg_axis_left(stream, chart.frame, chart.up, comparison->has_problems ? "%" : "", title);
    draw_axis(&chart);
    for (int arm = 0; arm < comparison->arm_count; arm++)
        for (int scaling = 0; scaling < found.scaling_count; scaling++)
            if (has_row(comparison, &found, arm, scaling))
                draw_row(&chart, arm, found.scalings[scaling]);
    chart_names(&(struct chart_names){.stream = stream,
                                      .comparison = comparison,
                                      .frame = chart.frame,
                                      .gap = CHART_LEADER_GAP,
                                      .end_of = end_of,
                                      .argument = &chart});
    svg_end(stream);
}

static void write_values(struct rows *rows, int arm, const char *scaling)
{
    for (int i = 0; i < rows->found->length_count; i++) {
        csv_text_html(rows->stream, rows->comparison->arms[arm].name);
        fprintf(rows->stream, ",%s,%lld,", scaling, (long long)rows->found->lengths[i]);
        csv_number(rows->stream,
                   mean_of(rows->comparison, arm, rows->found->lengths[i], scaling, VIEW_SCORE).mean);
        fputc('\n', rows->stream);
    }
}

void lengths_values(FILE *stream, const void *argument)
{
    const struct comparison *comparison = argument;
    const struct found found = find_all(comparison);
    struct rows rows = {.stream = stream, .comparison = comparison, .found = &found, .write = write_values};
    fprintf(stream, "arm,scaling,length,%s\n", measure_names[measure_of(comparison)]);
    each_row(&rows);
}
