/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that is safe inside HTML and SVG. Everything from a record is written through this.
 */
#ifndef ROTARY_REPORT_HTML_H
#define ROTARY_REPORT_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Escapes markup, in text and in quoted attributes. Control characters, which both formats forbid, become
 * U+FFFD. */
void html_text(FILE *stream, const char *text);

/* Escapes a sentence that is also printed on a terminal: there a minus sign is ASCII, and so is "<="; here
 * they are "−" and "≤". A minus sign is before a digit, and after a space or an opening bracket; other
 * hyphens are those of names. */
void html_sentence(FILE *stream, const char *text);

enum { HTML_NUMBER_BYTES = 64 };
/* Writes a minus sign as U+2212 and NaN as "–"; with `sign`, positive values have a plus. Returns `number`.
 */
const char *html_number(char number[HTML_NUMBER_BYTES], double value, int decimals, int sign);
/* A whole number with thousands separated by commas. Returns `number`. */
const char *html_count(char number[HTML_NUMBER_BYTES], int64_t value);

#endif
