/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals as a reader sees them. Both write into `text` and return it; with `sign`, ends above zero have a plus.
 */
#ifndef ROTARY_REPORT_INTERVAL_TEXT_H
#define ROTARY_REPORT_INTERVAL_TEXT_H

#include <stdbool.h>

enum { INTERVAL_BYTES = 144 };
/* "[-0.458, +0.273]", for a terminal and for sentences. */
const char *interval_text(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign);
/* "[−0.458, +0.273]", for a page, with the ends of html_number. */
const char *interval_html(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign);

#endif
