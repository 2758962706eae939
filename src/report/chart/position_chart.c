/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/position_chart.h"

#include "base/integer.h"
#include "report/chart/chart_names.h"
#include "report/csv.h"
#include "report/html.h"

#include <math.h>
#include <string.h>

enum { MAX_CURVES = 64, NAME_WIDTH = 74, TEXT_BYTES = 192 };
/* A model that ends where training did has perplexities of any size behind it: those above so many times the
 * lowest one are above the frame. */
static const double highest_ratio = 4;

static const struct record *run_of(const struct comparison *comparison, int arm, int run)
{
    return &comparison->records[comparison->arms[arm].runs[run]];
}

bool positions_of(const struct comparison *comparison, int arm, int64_t length, const char *scaling,
                  struct position_losses *losses)
{
    *losses = (struct position_losses){0};
    for (int run = 0; run < comparison->arms[arm].run_count; run++) {
        const struct record_length *found =
            record_lengths_find(&run_of(comparison, arm, run)->lengths, length, scaling);
        if (!found || found->positions.length == 0)
            continue;
        losses->length = length;
        for (int bin = 0; bin < POSITION_BINS; bin++) {
            losses->bins[bin].total += found->positions.bins[bin].total;
            losses->bins[bin].counted += found->positions.bins[bin].counted;
        }
    }
    return losses->length > 0;
}

/* The curves of a figure: of arms, or of the scalings of one. */
struct positions_chart {
    FILE *stream;
    const struct comparison *comparison; /* NULL: of one model alone */
    int64_t length, trained;             /* tokens of a sequence, and in training; 0: that is not known */
    struct position_losses curves[MAX_CURVES];
    const char *names[MAX_CURVES];
    int count;
    bool of_scalings;
    struct svg_frame frame;
    struct svg_scale across, up;
};

/* Draws an arm of which nothing is known too: curves of arms have their indices. Returns whether something
 * is. */
static bool add_curve(struct positions_chart *chart, int arm, const char *scaling, const char *name)
{
    if (chart->count == MAX_CURVES)
        return false;
    chart->names[chart->count] = name;
    return positions_of(chart->comparison, arm, chart->length, scaling, &chart->curves[chart->count++]);
}

/* ---- drawing ---- */

static double perplexity_of(const struct positions_chart *chart, int curve, int bin)
{
    return exp(position_loss(&chart->curves[curve], bin));
}

static void set_scales(struct positions_chart *chart, bool log)
{
    double low = (double)INFINITY, high = 0;
    for (int i = 0; i < chart->count; i++)
        for (int bin = 0; bin < position_bins(chart->length); bin++) {
            low = fmin(low, perplexity_of(chart, i, bin)); /* of NaN and a number, the number */
            high = fmax(high, perplexity_of(chart, i, bin));
        }
    if (!isfinite(low))
        low = high = 1;
    if (!log)
        high = fmin(high, highest_ratio * low);
    if (!log)
        svg_round_range(&low, &high);
    chart->up = (struct svg_scale){low, high * (log ? 1.01 : 1), chart->frame.bottom, chart->frame.top, log};
    chart->across =
        (struct svg_scale){0, (double)chart->length, chart->frame.left, chart->frame.right, false};
}

static double middle_of(const struct positions_chart *chart, int bin)
{
    const int64_t begin = position_begin(chart->length, bin), end = position_begin(chart->length, bin + 1);
    return 0.5 * (double)(begin + end);
}

static void draw_curve(const struct positions_chart *chart, int curve)
{
    bool pen_down = false;
    fprintf(chart->stream, "<path class=\"%s %s curve line\" data-column=\"%d\" d=\"", svg_arm_class(curve),
            svg_dash_class(curve), curve + 1);
    for (int bin = 0; bin < position_bins(chart->length); bin++) {
        const double perplexity = perplexity_of(chart, curve, bin);
        /* How far above the frame a point is says nothing more, and coordinates stay short. */
        const double y =
            svg_place(chart->up, perplexity > 100 * chart->up.high ? 100 * chart->up.high : perplexity);
        if (isfinite(y))
            fprintf(chart->stream, "%c%.1f %.1f", pen_down ? 'L' : 'M',
                    svg_place(chart->across, middle_of(chart, bin)), y);
        pen_down = isfinite(y);
    }
    fputs("\"><title>", chart->stream);
    html_text(chart->stream, chart->names[curve]);
    fputs("</title></path>\n", chart->stream);
}

/* Where a curve ends, in the frame. */
static struct chart_end end_of(const void *argument, int index)
{
    const struct positions_chart *chart = argument;
    for (int bin = position_bins(chart->length) - 1; bin >= 0 && index < chart->count; bin--) {
        const double y = svg_place(chart->up, perplexity_of(chart, index, bin));
        if (!isnan(y))
            return (struct chart_end){(double)NAN, fmax(y, chart->frame.top)};
    }
    return (struct chart_end){(double)NAN, (double)NAN};
}

static void draw(FILE *stream, const void *argument, struct svg_look look)
{
    struct positions_chart drawn = *(const struct positions_chart *)argument, *chart = &drawn;
    const struct comparison *comparison = chart->comparison;
    chart->stream = stream;
    chart->frame = comparison
                       ? chart_frame(comparison->arm_count, fmax(chart_name_width(comparison), NAME_WIDTH))
                       : chart_frame(chart->count, NAME_WIDTH);
    set_scales(chart, look.log);
    const struct svg_plane plane = {chart->frame, chart->across, chart->up};
    svg_begin(stream, &(struct svg_drawing){.height = (int)chart->frame.bottom + CHART_BELOW,
                                            .label = "perplexity by position",
                                            .look = look,
                                            .plane = &plane});
    svg_axis_left(chart->stream, chart->frame, chart->up, "", "perplexity");
    svg_axis_below(chart->stream, chart->frame, chart->across, "position in the sequence");
    if (chart->trained > 0 && chart->trained <= chart->length) {
        const double x = svg_place(chart->across, (double)chart->trained);
        svg_line(chart->stream, "goal", x, chart->frame.top, x, chart->frame.bottom);
    }
    svg_begin_clipped(chart->stream, chart->frame);
    for (int i = 0; i < chart->count; i++)
        draw_curve(chart, i);
    svg_end(chart->stream);
    chart_names(&(struct chart_names){.stream = chart->stream,
                                      .comparison = chart->comparison,
                                      .names = chart->of_scalings ? chart->names : NULL,
                                      .count = chart->count,
                                      .frame = chart->frame,
                                      .gap = 8,
                                      .end_of = end_of,
                                      .argument = chart});
    svg_end(chart->stream);
}

/* A row for each bin, named by its middle. */
static void write_values(FILE *stream, const void *argument)
{
    const struct positions_chart *chart = argument;
    fputs("position", stream);
    for (int i = 0; i < chart->count; i++) {
        fputc(',', stream);
        csv_text_html(stream, chart->names[i]);
    }
    fputc('\n', stream);
    for (int bin = 0; bin < position_bins(chart->length); bin++) {
        csv_rounded(stream, middle_of(chart, bin));
        for (int i = 0; i < chart->count; i++) {
            fputc(',', stream);
            csv_rounded(stream, perplexity_of(chart, i, bin));
        }
        fputc('\n', stream);
    }
}

static void give_figure(const struct figure_taker *taker, const struct positions_chart *chart,
                        const char *arm)
{
    char number[2][HTML_NUMBER_BYTES], title[TEXT_BYTES], trained[TEXT_BYTES] = "", caption[2 * TEXT_BYTES];
    snprintf(title, sizeof title, "Perplexity by position%s%.150s", arm ? ", " : "", arm ? arm : "");
    if (chart->trained > 0 && chart->trained <= chart->length)
        snprintf(trained, sizeof trained, "Dotted: the %s tokens of training. ",
                 html_count(number[0], chart->trained));
    snprintf(
        caption, sizeof caption,
        "Of the tokens predicted at each position, in sequences of up to %s tokens. %sAbove %g times the "
        "lowest, curves leave the frame.",
        html_count(number[1], chart->length), trained, highest_ratio);
    figure_give(taker, &(struct page_figure){.title = title,
                                             .caption = caption,
                                             .draw = draw,
                                             .csv = write_values,
                                             .argument = chart,
                                             .of_arms = !chart->of_scalings,
                                             .log = true});
}

/* ---- what there is ---- */

/* The tokens of a sequence in training; 0: they are not recorded. */
static int64_t trained_length(const struct comparison *comparison)
{
    return comparison->record_count > 0
               ? json_integer_value(json_object_get(comparison->records[0].config, "sequence_length"))
               : 0;
}

/* The longest sequences with losses by position; 0: there are none. */
static int64_t longest_of_run(const struct record_lengths *lengths)
{
    int64_t longest = 0;
    for (int i = 0; i < lengths->count; i++)
        longest = max_i64(longest, lengths->items[i].positions.length);
    return longest;
}

static int64_t longest_of(const struct comparison *comparison)
{
    int64_t longest = 0;
    for (int arm = 0; arm < comparison->arm_count; arm++)
        for (int run = 0; run < comparison->arms[arm].run_count; run++)
            longest = max_i64(longest, longest_of_run(&run_of(comparison, arm, run)->lengths));
    return longest;
}

/* Every scaling of an arm, as its first run has them. */
static void add_scalings(struct positions_chart *chart, int arm)
{
    if (chart->comparison->arms[arm].run_count == 0)
        return;
    const struct record_lengths *lengths = &run_of(chart->comparison, arm, 0)->lengths;
    for (int i = 0; i < lengths->count; i++)
        if (lengths->items[i].positions.length == chart->length)
            add_curve(chart, arm, lengths->items[i].scaling, lengths->items[i].scaling);
}

void positions_figures(const struct figure_taker *taker, const struct comparison *comparison)
{
    struct positions_chart chart = {
        .comparison = comparison, .length = longest_of(comparison), .trained = trained_length(comparison)};
    if (chart.length == 0)
        return;
    bool known = false;
    for (int arm = 0; arm < comparison->arm_count; arm++)
        known |= add_curve(&chart, arm, "none", comparison->arms[arm].name);
    if (known)
        give_figure(taker, &chart, NULL);
    chart.of_scalings = true;
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        chart.count = 0;
        add_scalings(&chart, arm);
        if (chart.count > 1 || (chart.count == 1 && strcmp(chart.names[0], "none") != 0))
            give_figure(taker, &chart, comparison->arms[arm].name);
    }
}

void positions_picture(FILE *stream, const struct record_lengths *lengths, int64_t trained)
{
    struct positions_chart chart = {
        .length = longest_of_run(lengths), .trained = trained, .of_scalings = true};
    for (int i = 0; i < lengths->count && chart.count < MAX_CURVES; i++) {
        if (lengths->items[i].positions.length != chart.length || chart.length == 0)
            continue;
        chart.curves[chart.count] = lengths->items[i].positions;
        chart.names[chart.count++] = lengths->items[i].scaling;
    }
    draw(stream, &chart, (struct svg_look){.alone = true});
}
