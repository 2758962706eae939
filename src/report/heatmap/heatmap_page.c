/* SPDX-License-Identifier: Apache-2.0 */
#include "report/heatmap/heatmap_page.h"

#include "base/fail.h"
#include "file/print.h"
#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <stdlib.h>

static void write_names(FILE *stream, const struct heatmaps *maps)
{
    for (int side = 0; side < maps->side_count; side++) {
        if (side > 0)
            fputs(side + 1 == maps->side_count ? " and " : ", ", stream);
        html_text(stream, maps->sides[side].name);
    }
}

static void write_head(FILE *stream, const struct heatmaps *maps)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          stream);
    write_names(stream, maps);
    fputs(": attention</title>\n", stream);
    style_write(stream);
    fprintf(stream, "<style>\n%s</style>\n</head>\n", heatmap_style);
}

static void write_lede(FILE *stream, const struct heatmaps *maps)
{
    char count[HTML_NUMBER_BYTES];
    fprintf(stream, "<p class=\"lede\">What each head looks at, in %s text%s", html_count(count, maps->texts),
            maps->texts == 1 ? "" : "s");
    if (maps->shown < maps->texts)
        fprintf(stream, ", of which the first %lld %s shown", (long long)maps->shown,
                maps->shown == 1 ? "is" : "are");
    fputs(".", stream);
    for (int side = 0; side < maps->side_count; side++) {
        const struct heatmap_side *of = &maps->sides[side];
        fputs(side == 0 ? " " : "; ", stream);
        html_text(stream, of->name);
        fputs(": ", stream);
        html_text(stream, of->runs[0].folder);
        if (of->run_count > 1)
            fprintf(stream, ", the first of %d runs", of->run_count);
    }
    fputs(".</p>\n", stream);
}

static void write_select(FILE *stream, const char *name, const char *label)
{
    fprintf(stream, "<label>%s <select id=\"%s\"></select></label>\n", label, name);
}

static void write_controls(FILE *stream, const struct heatmaps *maps)
{
    fputs("<form class=\"controls\" id=\"controls\">\n", stream);
    write_select(stream, "text", "text");
    write_select(stream, "kind", "attention");
    write_select(stream, "layer", "layer");
    write_select(stream, "head", "head");
    fputs("<label>colours <select id=\"scale\"><option value=\"linear\">linear</option><option "
          "value=\"root\">square root</option></select></label>\n"
          "<span class=\"legend\"><span>0</span><canvas id=\"legend\" width=\"256\" height=\"1\"></canvas>"
          "<span>1</span></span>\n</form>\n<div class=\"maps\" id=\"maps\">\n",
          stream);
    for (int side = 0; side < maps->side_count; side++) {
        fprintf(stream, "<figure class=\"card map\" data-side=\"%d\"><h3>", side);
        html_text(stream, maps->sides[side].name);
        fputs("</h3><div class=\"window\" tabindex=\"0\"></div><output class=\"reading\"></output>"
              "<button type=\"button\" class=\"save\">save as PNG</button>"
              "<div class=\"overview\"></div></figure>\n",
              stream);
    }
    fputs("</div>\n<noscript><p class=\"card banner\">The maps are drawn by a script, which this browser "
          "does not "
          "run. The numbers are below.</p></noscript>\n",
          stream);
}

static void write_reading(FILE *stream, const struct heatmaps *maps)
{
    bool runs = heatmap_units_are_runs(maps);
    char text[32];
    double difference = 0;
    for (int side = 0; side < maps->side_count; side++)
        difference = fmax(difference, maps->sides[side].runs[0].difference);
    fputs("<h2>How to read this</h2>\n<ul class=\"note\">\n"
          "<li>A row is a token that looks (a query), a column one that is looked at (a key). The weights of "
          "a row "
          "have the sum 1.</li>\n"
          "<li>Entropy is that of a row's weights, averaged over rows: 0 nats where a head looks at one "
          "token, ln k "
          "where it looks at k alike. Beside it the share of the largest there can be, ln(tokens that are "
          "seen).</li>\n"
          "<li>Distance is |query − key| in tokens, weighted by attention; both are counted from 0.</li>\n"
          "<li>Offset: the share of queries that look most at one and the same offset, key − query. A head "
          "with 90% "
          "or more is called positional (Voita et al. 2019), and bold here.</li>\n<li>",
          stream);
    if (runs)
        fprintf(stream,
                "Intervals of layers are over %d runs, differences paired by seed (95%%, Student’s t). Those "
                "of heads "
                "are over "
                "texts, of the first run alone: head 1 of one run is not head 1 of another.",
                maps->sides[0].run_count);
    else
        fputs("Intervals are over texts (95%, Student’s t), paired by text. They say how much other texts "
              "would "
              "change the numbers of these models, not what other seeds would give: for that, compare "
              "several runs "
              "a side.",
              stream);
    snprintf(text, sizeof text, "%.1e", difference);
    fprintf(stream,
            "</li>\n<li>Attention itself stores no weights. These are computed from its queries and keys; "
            "with them, "
            "its output comes out to within %s of its largest value.</li>\n</ul>\n",
            text);
}

static int64_t weights_of(const struct heatmaps *maps)
{
    int64_t count = 0;
    for (int side = 0; side < maps->side_count; side++)
        for (int64_t text = 0; text < maps->shown; text++)
            for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
                const struct attention_weights *of = &maps->sides[side].runs[0].examples[text].weights[kind];
                count += of->layers * of->heads * of->queries * of->keys;
            }
    return count;
}

static void write_page(FILE *stream, const struct heatmaps *maps, const char *data)
{
    write_head(stream, maps);
    fputs("<body>\n<main class=\"wide\">\n<p class=\"eyebrow\">rotary heatmap, task ", stream);
    html_text(stream, maps->task);
    fputs("</p>\n<h1>", stream);
    write_names(stream, maps);
    fputs("</h1>\n", stream);
    write_lede(stream, maps);
    write_controls(stream, maps);
    heatmap_tables_write(stream, maps);
    write_reading(stream, maps);
    fputs("<footer class=\"note\">Made by rotary from trained models. This page loads nothing from "
          "elsewhere.</footer>\n</main>\n<script type=\"application/json\" id=\"data\">",
          stream);
    fprintf(stream, "%s</script>\n<script>\n%s</script>\n</body>\n</html>\n", data, heatmap_script);
}

rotary_status heatmap_page_write(const struct heatmaps *maps, const char *path, rotary_error *error)
{
    if (weights_of(maps) > HEATMAP_PAGE_WEIGHTS)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "the page would have %lld weights, wanted at most %d: show fewer texts, or shorter ones",
            (long long)weights_of(maps), (int)HEATMAP_PAGE_WEIGHTS);
    char *data = heatmap_data(maps);
    if (!data)
        return rotary_fail_memory(error, "for the page of %lld texts", (long long)maps->shown);
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status == ROTARY_OK) {
        write_page(print.stream, maps, data);
        status = print_replace(&print, path, error);
    }
    free(data);
    return status;
}
