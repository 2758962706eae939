/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char minus_sign[] = "−";

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

static void write_letter(FILE *stream, char letter)
{
    const char *replacement = replacement_of((unsigned char)letter);
    if (replacement)
        fputs(replacement, stream);
    else
        fputc(letter, stream);
}

void html_text(FILE *stream, const char *text)
{
    for (; *text; text++)
        write_letter(stream, *text);
}

static bool is_minus(char before, const char *at)
{
    return at[0] == '-' && isdigit((unsigned char)at[1]) && strchr(" [(", before);
}

void html_sentence(FILE *stream, const char *text)
{
    for (char before = ' '; *text; before = *text++) {
        if (is_minus(before, text))
            fputs(minus_sign, stream);
        else if (strncmp(text, "<=", 2) == 0) {
            fputs("≤", stream);
            text++;
        } else
            write_letter(stream, *text);
    }
}

const char *html_number(char number[HTML_NUMBER_BYTES], double value, int decimals, int sign)
{
    if (isnan(value))
        return strcpy(number, "–");
    char digits[HTML_NUMBER_BYTES - 8];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    bool zero = strspn(digits, "0.") == strlen(digits);
    snprintf(number, HTML_NUMBER_BYTES, "%s%s", zero ? "" : value < 0 ? minus_sign : sign ? "+" : "", digits);
    return number;
}

const char *html_count(char number[HTML_NUMBER_BYTES], int64_t value)
{
    char digits[32];
    const bool negative = value < 0;
    int length = snprintf(digits, sizeof digits, "%" PRId64, value),
        at = negative ? snprintf(number, HTML_NUMBER_BYTES, "%s", minus_sign) : 0;
    for (int i = negative; i < length; i++) {
        if (i > negative && (length - i) % 3 == 0)
            number[at++] = ',';
        number[at++] = digits[i];
    }
    number[at] = 0;
    return number;
}
