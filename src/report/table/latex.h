/* SPDX-License-Identifier: Apache-2.0
 *
 * Text inside LaTeX.
 */
#ifndef ROTARY_REPORT_TABLE_LATEX_H
#define ROTARY_REPORT_TABLE_LATEX_H

#include <stdio.h>

/* Escapes what LaTeX gives a meaning. A minus sign and signs of order become mathematics, dashes LaTeX's
 * own, line ends and control characters spaces; other UTF-8 stays as it is. */
void latex_text(FILE *stream, const char *text);

#endif
