/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: what was found first, then the charts, the numbers, the models' answers, and how it all was made.
 */
#ifndef ROTARY_REPORT_PAGE_H
#define ROTARY_REPORT_PAGE_H

#include "report/series.h"

#include <stdio.h>

struct page {
    const struct collection *collection;
    struct series exact_match, validation, training;
    char **verdicts; /* a sentence for each encoding but the first */
};

/* Writes all of it. What fails to be written shows in the stream. */
void page_write(FILE *stream, const struct page *page);

/* The parts made of tables, in order; page_write calls them. */
void page_statistics(FILE *stream, const struct comparison *comparison, enum measure measure);
void page_runs(FILE *stream, const struct collection *collection);
void page_samples(FILE *stream, const struct collection *collection);
void page_configuration(FILE *stream, const struct collection *collection);

/* "550 (3 of 3)": the median of the steps, and how many of the runs got there; "> 600 (1 of 3)" where half of
 * them or more did not within all their steps. */
void page_reached(FILE *stream, const struct reached *reached, int64_t steps);

/* The style sheet. */
extern const char page_style[];

#endif
