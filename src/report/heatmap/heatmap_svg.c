/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture is maps side by side, each with a row of labels above and a column of labels before it:
 *
 *     title
 *     head 1            head 2
 *           k e y s           k e y s
 *     query cells       query cells
 *
 * A map's cells are drawn in its own units, one per cell. Cells of about the same weight are one path, and
 * those of next to no weight are left out: they have the colour of the ground.
 */
#include "report/heatmap/heatmap_svg.h"

#include "report/heatmap/heat_colours.h"
#include "report/html.h"

#include <string.h>

enum { LEVELS = 64, COLUMNS = 4, MARGIN = 16, TITLE_HEIGHT = 40, NAME_HEIGHT = 30 };

struct layout {
    const struct heatmap_text *queries, *keys;
    double cell, font;
    bool upright;          /* the labels of keys are short and stand above their columns, else along them */
    double left, top;      /* of the cells in a map */
    double width, height;  /* of a map with its labels */
    int64_t columns, rows; /* of maps */
};

/* Characters of UTF-8, which have about the same width here. */
static int64_t letters_of(const char *label)
{
    int64_t letters = 0;
    for (; *label; label++)
        letters += ((unsigned char)*label & 0xc0) != 0x80;
    return letters;
}

static double longest_label(const struct heatmap_text *text)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < text->count; i++) {
        int64_t letters = letters_of(text->labels[i]);
        longest = letters > longest ? letters : longest;
    }
    return (double)longest;
}

static struct layout layout_of(const struct heatmap_picture *picture)
{
    const struct heatmap_example *example = picture->example;
    const struct attention_weights *weights = &example->weights[picture->kind];
    struct layout layout = {.queries =
                                picture->kind == ATTENTION_ENCODER ? &example->source : &example->target,
                            .keys = picture->kind == ATTENTION_DECODER ? &example->target : &example->source};
    int64_t longer = weights->queries > weights->keys ? weights->queries : weights->keys;
    layout.cell = longer <= 16 ? 18 : longer <= 48 ? 13 : 9;
    layout.font = layout.cell * 0.78;
    layout.left = longest_label(layout.queries) * layout.font * 0.62 + 6;
    layout.upright = longest_label(layout.keys) < 3;
    layout.top = NAME_HEIGHT + (layout.upright ? 1.2 : longest_label(layout.keys) * 0.62) * layout.font + 6;
    layout.width = layout.left + (double)weights->keys * layout.cell + MARGIN;
    layout.height = layout.top + (double)weights->queries * layout.cell + MARGIN;
    layout.columns = weights->heads < COLUMNS ? weights->heads : COLUMNS;
    layout.rows = (weights->heads + layout.columns - 1) / layout.columns;
    return layout;
}

static void write_colours(FILE *stream, bool dark)
{
    char colour[HEAT_COLOUR_BYTES];
    for (int level = 1; level < LEVELS; level++)
        fprintf(stream, ".w%d{fill:%s}", level, heat_colour(colour, level / (LEVELS - 1.0), dark));
}

/* The colours are those of the page (style.c). */
static void write_style(FILE *stream)
{
    fputs("<style>\n"
          ".ground{fill:#fff}.frame{fill:none;stroke:#e2e0d8}"
          "text{fill:#5c6069;font-family:ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}"
          ".title{fill:#1b1d22;font-family:system-ui,sans-serif;font-weight:600}\n",
          stream);
    write_colours(stream, false);
    fputs("\n@media(prefers-color-scheme:dark){.ground{fill:#1d2027}.frame{stroke:#343841}"
          "text{fill:#a4a8b1}.title{fill:#eceae4}\n",
          stream);
    write_colours(stream, true);
    fputs("}\n</style>\n", stream);
}

static void write_label(FILE *stream, const char *label, const char *anchor, double x, double y, bool along)
{
    fprintf(stream, "<text text-anchor=\"%s\" ", anchor);
    if (along)
        fprintf(stream, "transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
    else
        fprintf(stream, "x=\"%.1f\" y=\"%.1f\">", x, y);
    html_text(stream, label);
    fputs("</text>\n", stream);
}

static void write_labels(FILE *stream, const struct layout *layout)
{
    double middle = layout->cell / 2 + layout->font * 0.35;
    fprintf(stream, "<g font-size=\"%.1f\">\n", layout->font);
    for (int64_t m = 0; m < layout->queries->count; m++)
        write_label(stream, layout->queries->labels[m], "end", layout->left - 4,
                    layout->top + (double)m * layout->cell + middle, false);
    for (int64_t n = 0; n < layout->keys->count; n++) {
        double column = layout->left + (double)n * layout->cell;
        if (layout->upright)
            write_label(stream, layout->keys->labels[n], "middle", column + layout->cell / 2, layout->top - 4,
                        false);
        else
            write_label(stream, layout->keys->labels[n], "start", column + middle, layout->top - 4, true);
    }
    fputs("</g>\n", stream);
}

static int level_of(float weight)
{
    return (int)((double)weight * (LEVELS - 1) + 0.5);
}

static void write_cells(FILE *stream, const struct attention_weights *weights, const float *head)
{
    for (int level = 1; level < LEVELS; level++) {
        bool begun = false;
        for (int64_t i = 0; i < weights->queries * weights->keys; i++) {
            if (level_of(head[i]) != level)
                continue;
            if (!begun)
                fprintf(stream, "<path class=\"w%d\" d=\"", level);
            begun = true;
            fprintf(stream, "M%lld %lldh1v1h-1z", (long long)(i % weights->keys),
                    (long long)(i / weights->keys));
        }
        if (begun)
            fputs("\"/>\n", stream);
    }
}

static void write_map(FILE *stream, const struct heatmap_picture *picture, const struct layout *layout,
                      int64_t head)
{
    const struct attention_weights *weights = &picture->example->weights[picture->kind];
    struct head_numbers numbers = head_numbers_of(weights, picture->layer, head);
    fprintf(stream,
            "<g transform=\"translate(%.1f %.1f)\">\n<text class=\"title\" font-size=\"13\" x=\"0\" "
            "y=\"14\">head "
            "%lld</text>\n<text font-size=\"11\" x=\"58\" y=\"14\">entropy %.2f, distance %.1f</text>\n",
            MARGIN + (double)(head % layout->columns) * layout->width,
            TITLE_HEIGHT + (double)(head / layout->columns) * layout->height, (long long)head + 1,
            numbers.entropy, numbers.distance);
    write_labels(stream, layout);
    fprintf(stream, "<g transform=\"translate(%.1f %.1f) scale(%.1f)\" shape-rendering=\"crispEdges\">\n",
            layout->left, layout->top, layout->cell);
    write_cells(stream, weights, attention_weights_head(weights, picture->layer, head));
    fputs("</g>\n", stream);
    fprintf(stream, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n</g>\n",
            layout->left - 0.5, layout->top - 0.5, (double)weights->keys * layout->cell + 1,
            (double)weights->queries * layout->cell + 1);
}

void heatmap_svg_write(FILE *stream, const struct heatmap_picture *picture)
{
    const struct layout layout = layout_of(picture);
    double title = (double)letters_of(picture->title) * 9.5, maps = (double)layout.columns * layout.width,
           width = MARGIN + (maps > title ? maps : title),
           height = TITLE_HEIGHT + (double)layout.rows * layout.height;
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\">\n<title>",
            width, height, width, height);
    html_text(stream, picture->title);
    fputs("</title>\n", stream);
    write_style(stream);
    fprintf(stream,
            "<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n<text class=\"title\" "
            "font-size=\"16\" x=\"%d\" "
            "y=\"24\">",
            MARGIN);
    html_text(stream, picture->title);
    fputs("</text>\n", stream);
    for (int64_t head = 0; head < picture->example->weights[picture->kind].heads; head++)
        write_map(stream, picture, &layout, head);
    fputs("</svg>\n", stream);
}
