/* SPDX-License-Identifier: Apache-2.0 */
#include "report/decay_page.h"

#include "base/fail.h"
#include "report/chart/decay_svg.h"
#include "report/csv.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More arms than that are folded up. */
enum { OPEN_ARMS = 2, TITLE_BYTES = 192 };

/* ---- charts ---- */

/* The layers of one kind, or of all. */
struct layers {
    const struct measured_decay *decay;
    enum decay_measure measure;
    enum attention_kind first, last;
};

static int64_t count_layers(const struct layers *layers)
{
    int64_t count = 0;
    for (int kind = (int)layers->first; kind <= (int)layers->last; kind++)
        count += layers->decay->kinds[kind].layers;
    return count;
}

static struct decay_panel panel_of(const void *context, int64_t index)
{
    const struct layers *layers = context;
    int kind = (int)layers->first;
    for (; index >= layers->decay->kinds[kind].layers; kind++)
        index -= layers->decay->kinds[kind].layers;
    const struct decay_kind *of = &layers->decay->kinds[kind];
    const struct decay_points *points = decay_points_of(of, layers->measure);
    struct decay_panel panel = {.first = points->first,
                                .lines = of->heads,
                                .points = points->count,
                                .values = decay_means(of, layers->measure, index, 0),
                                .counts = points->counts + index * points->count};
    const bool named = layers->first != layers->last && layers->decay->kinds[ATTENTION_ENCODER].layers > 0;
    snprintf(panel.title, sizeof panel.title, "%s%slayer %lld",
             named ? attention_kind_name((enum attention_kind)kind) : "", named ? ", " : "",
             (long long)index + 1);
    return panel;
}

static void draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct layers *layers = argument;
    static const char *const labels[] = {"mean score by distance", "mean attention weight by distance",
                                         "mean bias by distance",
                                         "mean entropy of the weights by the query's place",
                                         "mean norm of a head's output by the query's place"};
    const int64_t count = count_layers(layers);
    const struct decay_chart chart = {.label = labels[layers->measure],
                                      .by_query = decay_axis_of(layers->measure) == DECAY_BY_QUERY,
                                      .panel = panel_of,
                                      .context = layers,
                                      .count = count,
                                      .columns = count > 1 ? 2 : 1,
                                      .alone = look.alone};
    decay_svg(stream, &chart);
}

void measured_decay_svg(FILE *stream, const struct measured_decay *decay, enum decay_measure measure)
{
    const struct layers layers = {decay, measure, ATTENTION_ENCODER, ATTENTION_DECODER};
    draw(stream, &layers, (struct svg_look){.alone = true});
}

/* ---- arms ---- */

/* The first run of an arm with a file. */
static rotary_status read_arm(struct arm_decay *item, const struct comparison *comparison, const char *arm,
                              bool *found, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *found = false;
    for (int i = 0; status == ROTARY_OK && !*found && i < comparison->record_count; i++) {
        const struct record *record = &comparison->records[i];
        if (strcmp(record->arm, arm) != 0)
            continue;
        status = measured_decay_read(&item->decay, record_place(record), error);
        item->seed = record->seed;
        *found = status == ROTARY_OK && item->decay.sequences > 0;
    }
    return status;
}

rotary_status arm_decays_read(struct arm_decays *decays, const struct comparison *comparison,
                              rotary_error *error)
{
    bool any = false;
    rotary_status status = ROTARY_OK;
    *decays = (struct arm_decays){.items = calloc((size_t)comparison->arm_count + 1, sizeof *decays->items)};
    if (!decays->items)
        return rotary_fail_memory(error, "for the scores of %d arms by distance", comparison->arm_count);
    decays->count = comparison->arm_count;
    for (int i = 0; status == ROTARY_OK && i < comparison->arm_count; i++) {
        bool found;
        status = read_arm(&decays->items[i], comparison, comparison->arms[i].name, &found, error);
        any |= found;
    }
    if (status != ROTARY_OK || !any)
        arm_decays_free(decays);
    return status;
}

void arm_decays_free(struct arm_decays *decays)
{
    for (int i = 0; i < decays->count; i++)
        measured_decay_free(&decays->items[i].decay);
    free(decays->items);
    *decays = (struct arm_decays){0};
}

/* ---- the section ---- */

static void write_values(FILE *stream, const void *argument)
{
    const struct layers *layers = argument;
    fputs("layer,head,distance,score\n", stream);
    for (int64_t layer = 0; layer < count_layers(layers); layer++) {
        const struct decay_panel panel = panel_of(layers, layer);
        for (int64_t i = 0; i < panel.lines * panel.points; i++) {
            if (!isfinite(panel.values[i]))
                continue;
            fprintf(stream, "%lld,%lld,%lld,", (long long)layer + 1, (long long)(i / panel.points) + 1,
                    (long long)(panel.first + i % panel.points));
            csv_rounded(stream, panel.values[i]);
            fputc('\n', stream);
        }
    }
}

static void give_kind(const struct figure_taker *taker, const char *arm, const struct measured_decay *decay,
                      enum attention_kind kind)
{
    char title[TITLE_BYTES];
    if (decay->kinds[kind].layers == 0)
        return;
    const struct layers layers = {decay, DECAY_SCORE, kind, kind};
    snprintf(title, sizeof title, "Scores by distance: %.150s, %s", arm, attention_kind_name(kind));
    figure_give(taker, &(struct page_figure){.title = title,
                                             .caption = "Mean score by distance in tokens. A line is a head.",
                                             .draw = draw,
                                             .csv = write_values,
                                             .argument = &layers});
}

static void give_arm(const struct figure_taker *taker, const char *arm, const struct arm_decay *item)
{
    if (item->decay.sequences == 0)
        return;
    give_kind(taker, arm, &item->decay, ATTENTION_ENCODER);
    give_kind(taker, arm, &item->decay, ATTENTION_DECODER);
}

void decay_figures(const struct figure_taker *taker, const struct comparison *comparison,
                   const struct arm_decays *decays)
{
    for (int i = 0; i < decays->count; i++)
        give_arm(taker, comparison->arms[i].name, &decays->items[i]);
}

static void take_html(void *context, const struct page_figure *figure)
{
    figure_html(context, figure);
}

static void write_arm(FILE *stream, const char *arm, const struct arm_decay *item, bool open)
{
    char step[HTML_NUMBER_BYTES], sequences[HTML_NUMBER_BYTES];
    fprintf(stream, "<details%s>\n<summary>", open ? " open" : "");
    html_text(stream, arm);
    fprintf(stream, ", seed %lld</summary>\n<p class=\"note\">%s validation sequences, step %s",
            (long long)item->seed, html_count(sequences, item->decay.sequences),
            html_count(step, item->decay.step));
    if (item->decay.length > 0) {
        fprintf(stream, ", sequences of %s tokens, scaling ", html_count(sequences, item->decay.length));
        html_text(stream, item->decay.scaling);
    }
    if (strcmp(item->decay.checkpoint, "last") != 0) {
        fputs(", checkpoint ", stream);
        html_text(stream, item->decay.checkpoint);
    }
    fputs(".</p>\n<div class=\"charts\">\n", stream);
    give_arm(&(struct figure_taker){take_html, stream}, arm, item);
    fputs("</div>\n</details>\n", stream);
}

void decay_section(FILE *stream, const struct comparison *comparison, const struct arm_decays *decays)
{
    int arms = 0;
    for (int i = 0; i < decays->count; i++)
        arms += decays->items[i].decay.sequences > 0;
    if (arms == 0)
        return;
    fputs("<h2>Scores by distance</h2>\n<p class=\"note\">The mean score before the softmax, biases "
          "included, of "
          "a query and a key so many tokens before it; below 0, after it. Each chart has its own scale. "
          "Measured "
          "by <code>rotary decay</code>.</p>\n",
          stream);
    for (int i = 0; i < decays->count; i++)
        if (decays->items[i].decay.sequences > 0)
            write_arm(stream, comparison->arms[i].name, &decays->items[i], arms <= OPEN_ARMS);
}
