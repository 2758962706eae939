/* SPDX-License-Identifier: Apache-2.0
 *
 * The style sheets of pages, and of pictures that stand alone: style/ has them.
 */
#ifndef ROTARY_REPORT_STYLE_H
#define ROTARY_REPORT_STYLE_H

#include <stdio.h>

/* The palettes, drawings, and everything else; embedded from style/. */
extern const char style_light[], style_dark[], style_chart[], style_page[];

/* Writes the <style> elements of a page. Scripts find the light palette and the style of drawings by their
 * ids, "light" and "chart". Print is light. */
void style_write(FILE *stream);
/* Writes the style of drawings with the colours of the light palette in place of its variables, which
 * programs other than browsers do not know. */
void style_alone(FILE *stream);

#endif
