/* SPDX-License-Identifier: Apache-2.0
 *
 * A figure: its drawing, its values and what it says, for whoever takes it, be it the page or a folder.
 */
#ifndef ROTARY_REPORT_CHART_PAGE_FIGURE_H
#define ROTARY_REPORT_CHART_PAGE_FIGURE_H

#include "report/chart/svg.h"

#include <stdio.h>

struct page_figure {
    const char *title, *caption; /* as sentences that have no markup */
    void (*draw)(FILE *stream, const void *argument, struct svg_look look);
    /* Writes its values as CSV, escaped for the page (csv_text_html). Of curves over one axis column 0 is
     * that axis, and a curve's column is in its drawing. */
    void (*csv)(FILE *stream, const void *argument);
    const void *argument;
    const char *same_values; /* the title of the figure that has these values too; NULL: none */
    bool of_arms;            /* colours are those of arms */
    bool log, narrow;        /* there are such drawings too */
};

/* Takes a figure, which is valid until it returns. */
struct figure_taker {
    void (*take)(void *context, const struct page_figure *figure);
    void *context;
};
void figure_give(const struct figure_taker *taker, const struct page_figure *figure);

/* Writes "perplexity-by-position-rope" of "Perplexity by position, rope": the id of a figure, and the name
 * of its file. */
enum { FIGURE_ID_BYTES = 128 };
const char *figure_id(char id[FIGURE_ID_BYTES], const char *title);

/* Writes it as a part of the page. What lies in a <template> and the hidden CSV is for the page's script. */
void figure_html(FILE *stream, const struct page_figure *figure);

#endif
