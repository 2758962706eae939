/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv.h"

#include "report/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void put_plain(FILE *stream, const char *letter)
{
    fputs(letter, stream);
}

static void write_field(FILE *stream, const char *text, void (*put)(FILE *stream, const char *letter))
{
    const bool formula = text[0] && strchr("=+-@\t\r\n", text[0]);
    const bool quoted = formula || strpbrk(text, ",\"\r\n");
    if (quoted)
        put(stream, formula ? "\"'" : "\"");
    for (; *text; text++) {
        if (*text == '"')
            put(stream, "\"");
        put(stream, (const char[]){*text, 0});
    }
    if (quoted)
        put(stream, "\"");
}

void csv_text(FILE *stream, const char *text)
{
    write_field(stream, text, put_plain);
}

void csv_text_html(FILE *stream, const char *text)
{
    write_field(stream, text, html_text);
}

void csv_number(FILE *stream, double value)
{
    char text[64];
    if (isnan(value))
        return;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stream);
}

void csv_rounded(FILE *stream, double value)
{
    if (!isnan(value))
        fprintf(stream, "%.7g", value);
}
