/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: verdicts, charts, tables, the models' answers, and how the runs were made.
 */
#ifndef ROTARY_REPORT_PAGE_H
#define ROTARY_REPORT_PAGE_H

#include "report/chart/series.h"
#include "report/decay_page.h"
#include "report/findings.h"

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
};

/* Errors of writing are those of the stream (ferror). */
void page_write(FILE *stream, const struct page *page);

/* The tables and answers of the page, in its order. */
void page_statistics(FILE *stream, const struct comparison *comparison, enum measure measure);
void page_differences(FILE *stream, const struct comparison *comparison);
void page_pairs(FILE *stream, const struct comparison *comparison);
void page_runs(FILE *stream, const struct collection *collection);
void page_samples(FILE *stream, const struct collection *collection);
void page_configuration(FILE *stream, const struct collection *collection);

/* Writes "−12.3 [−20.1, −4.5]"; the mean alone without an interval, "–" without a mean. */
void page_difference(FILE *stream, const struct paired_difference *difference, int decimals);
/* Writes "550 (3 of 3)": the median of the steps, and how many of the runs reached the goal; "> 600 (1 of 3)"
 * if half of the runs or more did not reach it within `steps`. */
void page_reached(FILE *stream, const struct reached *reached, int64_t steps);

#endif
