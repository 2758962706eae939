/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the page, and the same in LaTeX (booktabs). Cells are texts as a reader sees them, and are
 * escaped here. A row is page_table_row, or page_table_contrast, and then a page_table_cell for each
 * further column.
 */
#ifndef ROTARY_REPORT_TABLE_PAGE_TABLE_H
#define ROTARY_REPORT_TABLE_PAGE_TABLE_H

#include "records/comparison/comparison.h"

#include <stdio.h>

struct page_table {
    FILE *stream;
    bool latex;
    /* The table that is being written has these. */
    int columns, column;
    bool folded, in_part;
};

/* Numbers are to the right, the first column and those of which the head ends in '<' are to the left, as
 * texts. */
void page_table_begin(struct page_table *table, const char *caption, const char *const *heads, int count);
/* Folds the table up, below its caption; LaTeX has none of those. */
void page_table_begin_folded(struct page_table *table, const char *caption, const char *const *heads,
                             int count);
/* Starts a part, which is sorted by itself, with a line above it unless that is NULL. */
void page_table_part(struct page_table *table, const char *title);
/* Names a row: in the colour of an arm, or -1. */
void page_table_row(struct page_table *table, int arm, const char *name);
/* "roper − rope", in the first one's colour; `baseline`: the second one's name. */
void page_table_contrast(struct page_table *table, const struct comparison *comparison, int arm,
                         const char *baseline);
__attribute__((format(printf, 2, 3))) void page_table_cell(struct page_table *table, const char *format, ...);
/* "–" for NaN. */
void page_table_number(struct page_table *table, double value, int decimals);
void page_table_p(struct page_table *table, double p);
void page_table_end(struct page_table *table);
/* Explains the table above: a paragraph, or a comment of LaTeX. What is between two ` is code. */
__attribute__((format(printf, 2, 3))) void page_table_note(struct page_table *table, const char *format, ...);

#endif
