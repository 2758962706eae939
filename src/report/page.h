/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: verdicts, charts, tables, the models' answers, and how the runs were made.
 */
#ifndef ROTARY_REPORT_PAGE_H
#define ROTARY_REPORT_PAGE_H

#include "report/chart/page_figure.h"
#include "report/chart/series.h"
#include "report/decay_page.h"
#include "report/findings.h"
#include "report/table/page_table.h"

#include <stdio.h>

/* Where `rotary heatmap` puts its page of a comparison, from that folder on. */
#define PAGE_HEATMAP "heatmap/heatmap.html"

struct page {
    const struct collection *collection;
    struct series
        scores; /* exact match, BLEU or that of labels; none of tasks that are scored by their loss */
    struct series validation, training;
    struct findings findings;
    struct arm_decays decays;
    char *choices;      /* what a sweep chose for each arm, in lines; empty without a sweep */
    bool has_heatmap;   /* PAGE_HEATMAP lies beside the page */
    const char *folder; /* of the comparison, if the page lies in it; NULL: it does not */
    const char *commit; /* of the program that writes it; NULL: it is not known */
    const char *date;   /* when it is written, "2026-01-31" */
};

/* Runs on the page; embedded from page.js. */
extern const char page_script[];

/* Errors of writing are those of the stream (ferror). */
void page_write(FILE *stream, const struct page *page);

/* Gives the figures of the page: that of differences, those of its section of curves, and those of scores
 * by distance. */
void page_forest(const struct figure_taker *taker, const struct page *page);
void page_charts(const struct figure_taker *taker, const struct page *page);
void page_figures(const struct figure_taker *taker, const struct page *page);
/* Whether there is anything for the section. */
bool page_has_curves(const struct page *page);

/* The tables of its section of numbers, in its order; and that of verdicts, which comes before. */
enum { PAGE_TITLE_BYTES = 160 };
void page_tables(struct page_table *table, const struct collection *collection);
void page_verdicts(struct page_table *table, const struct comparison *comparison);
/* Whether any contrast has pairs. */
bool page_has_pairs(const struct comparison *comparison);

/* The answers of the models, and the configuration. */
void page_samples(FILE *stream, const struct collection *collection, bool folded);
void page_configuration(FILE *stream, const struct collection *collection);
/* Starts and ends their part of the page with its heading, which may be folded up. */
void page_open_samples(FILE *stream, const char *heading, bool folded);
void page_close_samples(FILE *stream, bool folded);

#endif
