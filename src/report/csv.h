/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of comma-separated values (RFC 4180).
 */
#ifndef ROTARY_REPORT_CSV_H
#define ROTARY_REPORT_CSV_H

#include <stdio.h>

/* Quotes a text that holds what separates fields or rows. A spreadsheet takes a text that begins with one of
 * = + - @, or with white space before them, for a formula, which may run commands: an apostrophe before it
 * makes it text. */
void csv_text(FILE *stream, const char *text);
/* Does the same for values that are kept on a page: escapes its markup too. */
void csv_text_html(FILE *stream, const char *text);
/* Writes the fewest digits that are read back exactly, with an ASCII minus; nothing for NaN. */
void csv_number(FILE *stream, double value);
/* Writes seven digits, which is more than a drawing shows. */
void csv_rounded(FILE *stream, double value);

#endif
