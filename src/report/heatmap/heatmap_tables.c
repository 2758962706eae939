/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the page: layers, and heads.
 */
#include "report/heatmap/heatmap_names.h"
#include "report/heatmap/heatmap_page.h"
#include "report/html.h"
#include "report/interval_text.h"

#include <math.h>
#include <string.h>

static void write_number(FILE *stream, double value, int decimals, int sign)
{
    char number[HTML_NUMBER_BYTES];
    fputs(html_number(number, value, decimals, sign), stream);
}

/* "0.41 [0.38, 0.44]"; the mean alone without an interval. */
static void write_interval(FILE *stream, struct interval interval, int decimals, int sign)
{
    char text[INTERVAL_BYTES];
    write_number(stream, interval.mean, decimals, sign);
    if (isnan(interval.low))
        return;
    fprintf(stream, " <span class=\"group\">%s</span>",
            interval_html(text, interval.low, interval.high, decimals, sign));
}

/* ---- layers ---- */

static void write_layer(FILE *stream, const struct heatmaps *maps, enum attention_kind kind, int64_t layer,
                        const char *name)
{
    fprintf(stream, "<tr><th scope=\"row\">%s</th>", name);
    for (int number = HEAD_ENTROPY; number <= HEAD_NORMALISED; number++) {
        struct heatmap_choice choice = {kind, layer, (enum head_number)number};
        for (int side = 0; side < maps->side_count; side++) {
            fputs("<td>", stream);
            write_interval(stream, heatmap_layer(maps, side, choice), 3, 0);
            fputs("</td>", stream);
        }
        for (int side = 1; side < maps->side_count; side++) {
            fputs("<td>", stream);
            write_interval(stream, heatmap_contrast(maps, side, choice), 3, 1);
            fputs("</td>", stream);
        }
    }
    fputs("</tr>\n", stream);
}

static void write_side_headings(FILE *stream, const struct heatmaps *maps, const char *number)
{
    for (int side = 0; side < maps->side_count; side++) {
        fprintf(stream, "<th scope=\"col\">%s", number);
        if (maps->side_count > 1) {
            fputs(", ", stream);
            html_text(stream, maps->sides[side].name);
        }
        fputs("</th>", stream);
    }
    for (int side = 1; side < maps->side_count; side++) {
        fputs("<th scope=\"col\">", stream);
        html_text(stream, maps->sides[side].name);
        fputs(" − ", stream);
        html_text(stream, maps->sides[0].name);
        fputs("</th>", stream);
    }
}

static void write_layers(FILE *stream, const struct heatmaps *maps, enum attention_kind kind)
{
    int64_t layers = maps->sides[0].runs[0].kinds[kind].layers;
    char name[HEATMAP_LAYERS_BYTES];
    fprintf(stream,
            "<div class=\"scroll\"><table class=\"sticky layers\">\n<caption>Entropy by layer: "
            "%s</caption>\n<thead><tr><th>layer</th>",
            heatmap_kind_title(kind, heatmap_has_encoder(maps)));
    write_side_headings(stream, maps, "nats");
    write_side_headings(stream, maps, "share");
    fputs("</tr></thead>\n<tbody>\n", stream);
    for (int64_t layer = 0; layer < layers; layer++) {
        snprintf(name, sizeof name, "%lld", (long long)layer + 1);
        write_layer(stream, maps, kind, layer, name);
    }
    if (layers > 1)
        write_layer(stream, maps, kind, HEATMAP_DEEPER_HALF, heatmap_deeper_half(name, layers));
    fputs("</tbody>\n</table></div>\n", stream);
}

/* ---- heads ---- */

static void write_position(FILE *stream, struct head_position position)
{
    char number[HTML_NUMBER_BYTES];
    fputs("<td>", stream);
    write_number(stream, 100 * position.share, 0, 0);
    if (isnan(position.share)) {
        fputs("</td>", stream);
        return;
    }
    fprintf(stream, "%% at %s</td>",
            position.offset ? html_number(number, (double)position.offset, 0, 1) : "0");
}

static void write_head(FILE *stream, const struct heatmap_run *run, enum attention_kind kind, int64_t layer,
                       int64_t head)
{
    const struct heatmap_heads *heads = &run->kinds[kind];
    struct head_position position = head_position_of(&heads->offsets[layer * heads->heads + head]);
    static const int decimals[HEAD_NUMBERS] = {2, 2, 1};
    fprintf(stream,
            "<tr data-kind=\"%s\" data-layer=\"%lld\" data-head=\"%lld\"%s><th scope=\"row\"><button "
            "type=\"button\">%lld.%lld</button></th>",
            attention_kind_name(kind), (long long)layer, (long long)head,
            position.share >= 0.9 ? " class=\"positional\"" : "", (long long)layer + 1, (long long)head + 1);
    for (int number = 0; number < HEAD_NUMBERS; number++) {
        fputs("<td>", stream);
        write_interval(stream, heatmap_head(run, kind, layer, head, (enum head_number)number),
                       decimals[number], 0);
        fputs("</td>", stream);
    }
    write_position(stream, position);
    fputs("</tr>\n", stream);
}

static void write_heads(FILE *stream, const struct heatmaps *maps, int side)
{
    const struct heatmap_run *run = &maps->sides[side].runs[0];
    char count[HTML_NUMBER_BYTES];
    fprintf(stream, "<div class=\"scroll\"><table class=\"sticky heads\" data-side=\"%d\">\n<caption>", side);
    html_text(stream, maps->sides[side].name);
    fprintf(stream, ": heads, over %s text%s</caption>\n", html_count(count, maps->texts),
            maps->texts == 1 ? "" : "s");
    fputs("<thead><tr><th>head</th><th scope=\"col\">entropy</th><th scope=\"col\">share"
          "</th><th "
          "scope=\"col\">distance</th><th scope=\"col\">offset</th></tr></thead>\n<tbody>\n",
          stream);
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        for (int64_t layer = 0; layer < run->kinds[kind].layers; layer++)
            for (int64_t head = 0; head < run->kinds[kind].heads; head++)
                write_head(stream, run, (enum attention_kind)kind, layer, head);
    fputs("</tbody>\n</table></div>\n", stream);
}

void heatmap_tables_write(FILE *stream, const struct heatmaps *maps)
{
    fputs("<h2>Heads</h2>\n<div class=\"grid2\">\n", stream);
    for (int side = 0; side < maps->side_count; side++)
        write_heads(stream, maps, side);
    fputs("</div>\n<h2>Layers</h2>\n", stream);
    for (int i = 0; i < ATTENTION_KINDS; i++) {
        enum attention_kind kind = (enum attention_kind)i;
        bool alike = maps->sides[0].runs[0].kinds[kind].layers > 0;
        for (int side = 1; side < maps->side_count; side++)
            alike = alike && heatmap_comparable(maps, side, kind);
        if (alike)
            write_layers(stream, maps, kind);
    }
}
