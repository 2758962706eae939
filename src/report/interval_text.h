/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals as a reader sees them. Both write into `text` and return it; with `sign`, ends above zero have
 * a plus.
 */
#ifndef ROTARY_REPORT_INTERVAL_TEXT_H
#define ROTARY_REPORT_INTERVAL_TEXT_H

#include "records/comparison/contrast.h"

#include <stdbool.h>

enum { INTERVAL_BYTES = 224 };
/* "[-0.458, +0.273]", for a terminal and for sentences. */
const char *interval_text(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign);
/* "[−0.458, +0.273]", for a page, with the ends of html_number. */
const char *interval_html(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign);
/* "−12.3 [−20.1, −4.5]"; the mean alone without an interval, "–" without a mean. */
const char *difference_html(char text[INTERVAL_BYTES], const struct paired_difference *difference,
                            int decimals);

#endif
