/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *replacement_of(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return byte < 0x20 || byte == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void html_text(FILE *stream, const char *text)
{
    for (; *text; text++) {
        const char *replacement = replacement_of((unsigned char)*text);
        if (replacement)
            fputs(replacement, stream);
        else
            fputc(*text, stream);
    }
}

const char *html_number(char number[HTML_NUMBER_BYTES], double value, int decimals, int sign)
{
    if (isnan(value))
        return strcpy(number, "–");
    char digits[HTML_NUMBER_BYTES - 8];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    bool zero = strspn(digits, "0.") == strlen(digits);
    snprintf(number, HTML_NUMBER_BYTES, "%s%s", zero ? "" : value < 0 ? "−" : sign ? "+" : "", digits);
    return number;
}

const char *html_count(char number[HTML_NUMBER_BYTES], int64_t value)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > (value < 0) && (length - i) % 3 == 0)
            number[at++] = ',';
        number[at++] = digits[i];
    }
    number[at] = 0;
    return number;
}
