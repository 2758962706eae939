/* SPDX-License-Identifier: Apache-2.0 */
#include "report/interval_text.h"

#include "report/html.h"

#include <math.h>
#include <stdio.h>

const char *interval_text(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign)
{
    snprintf(text, INTERVAL_BYTES, sign ? "[%+.*f, %+.*f]" : "[%.*f, %.*f]", decimals, low, decimals, high);
    return text;
}

const char *interval_html(char text[INTERVAL_BYTES], double low, double high, int decimals, bool sign)
{
    char first[HTML_NUMBER_BYTES], last[HTML_NUMBER_BYTES];
    snprintf(text, INTERVAL_BYTES, "[%s, %s]", html_number(first, low, decimals, sign),
             html_number(last, high, decimals, sign));
    return text;
}

const char *difference_html(char text[INTERVAL_BYTES], const struct paired_difference *difference,
                            int decimals)
{
    char number[HTML_NUMBER_BYTES], low[HTML_NUMBER_BYTES], high[HTML_NUMBER_BYTES];
    const bool defined = difference->count && !isnan(difference->mean);
    html_number(number, defined ? difference->mean : (double)NAN, decimals, 1);
    if (!defined || isnan(difference->low))
        snprintf(text, INTERVAL_BYTES, "%s", number);
    else
        snprintf(text, INTERVAL_BYTES, "%s [%s, %s]", number, html_number(low, difference->low, decimals, 1),
                 html_number(high, difference->high, decimals, 1));
    return text;
}
