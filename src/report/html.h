/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that is safe inside HTML and SVG. Everything that comes from a record goes through here.
 */
#ifndef ROTARY_REPORT_HTML_H
#define ROTARY_REPORT_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Escapes what markup gives a meaning to, for text and for quoted attributes alike. Control characters, which
 * neither format may hold, become U+FFFD. */
void html_text(FILE *stream, const char *text);

enum { HTML_NUMBER_BYTES = 64 };
/* With the minus sign of typography; "–" for NaN; `sign` puts a plus before what is positive. Returns
 * `number`. */
const char *html_number(char number[HTML_NUMBER_BYTES], double value, int decimals, int sign);
/* A whole number with commas between thousands. */
const char *html_count(char number[HTML_NUMBER_BYTES], int64_t value);

#endif
