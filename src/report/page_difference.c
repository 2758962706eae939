/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"
#include "report/interval_text.h"
#include "report/page.h"

#include <math.h>

void page_difference(FILE *stream, const struct paired_difference *difference, int decimals)
{
    char number[HTML_NUMBER_BYTES], interval[INTERVAL_BYTES];
    bool defined = difference->count && !isnan(difference->mean);
    fputs(defined ? html_number(number, difference->mean, decimals, 1) : "–", stream);
    if (defined && !isnan(difference->low))
        fprintf(stream, " %s", interval_html(interval, difference->low, difference->high, decimals, true));
}
