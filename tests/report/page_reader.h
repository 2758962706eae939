/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a page back: the cells of its tables, and the drawings with the values that their axes give them.
 */
#ifndef TESTS_REPORT_PAGE_READER_H
#define TESTS_REPORT_PAGE_READER_H

#include "records/collection.h"

#include <stdbool.h>

enum { PAGE_TEXT_BYTES = 512, PAGE_POINTS = 512 };

/* Writes the page of a collection in the scratch folder and reads it; the caller frees the text. */
char *page_of(const struct collection *collection);

/* The text of the first cell of table `head` (its caption, or the summary above it; its beginning is enough)
 * in the column of that heading, in the row whose first cells are `first` and, unless NULL, `second`. What is
 * not there fails the test and is "". The minus sign is read as '-', commas within numbers are left out.
 * Valid until the next call. */
const char *page_cell(const char *page, const char *head, const char *column, const char *first,
                      const char *second);
/* The same as a number; NaN if it does not begin with one. */
double page_number(const char *page, const char *head, const char *column, const char *first,
                   const char *second);
/* The rows of such a table. */
int page_rows(const char *page, const char *head);

/* A figure of the page, from its heading to its end. */
struct figure {
    const char *begin, *end;
    /* A coordinate is at + distance × value, as the ticks say. Distances are 0 without two ticks. */
    double x_at, x_distance, y_at, y_distance;
};
struct figure figure_of(const char *page, const char *title);
double figure_x(const struct figure *figure, double value);
double figure_y(const struct figure *figure, double value);

/* An element of a figure: a line, a text, a marker or a curve. */
struct element {
    char name[8], class[64], anchor[16];
    char text[PAGE_TEXT_BYTES]; /* of a text; the tooltip of a path */
    double x1, y1, x2, y2;      /* x1, y1: also of a text and of a marker */
    int points;                 /* of a curve */
    double x[PAGE_POINTS], y[PAGE_POINTS];
};
/* The next element of this kind of which the class has the word, after *at, which starts as figure->begin;
 * false after the last. */
bool figure_next(const struct figure *figure, const char **at, const char *name, const char *class,
                 struct element *element);
/* Whether a class has the word. */
bool has_class(const struct element *element, const char *word);

#endif
