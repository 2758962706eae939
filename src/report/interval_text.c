/* SPDX-License-Identifier: Apache-2.0 */
#include "report/interval_text.h"

#include "report/html.h"

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
