/* SPDX-License-Identifier: Apache-2.0
 *
 * The colours of weights: one hue, with lightness in proportion to the weight, so that equal differences of
 * weights look equal (OKLab; Ottosson 2020). Weight 0 is the colour of the page's cards.
 */
#ifndef ROTARY_REPORT_HEATMAP_HEAT_COLOURS_H
#define ROTARY_REPORT_HEATMAP_HEAT_COLOURS_H

#include <stdbool.h>

enum { HEAT_COLOUR_BYTES = 8 };
/* "#rrggbb" of a weight in [0, 1], on light or dark pages. Returns `colour`. */
const char *heat_colour(char colour[HEAT_COLOUR_BYTES], double weight, bool dark);

#endif
