/* SPDX-License-Identifier: Apache-2.0 */
#include "report/style.h"

#include <string.h>

void style_write(FILE *stream)
{
    fprintf(stream,
            "<style id=\"light\">\n%s</style>\n"
            "<style>\n@media screen and (prefers-color-scheme:dark){\n%s}\n%s</style>\n"
            "<style id=\"chart\">\n%s</style>\n",
            style_light, style_dark, style_page, style_chart);
}

/* Writes the value of a variable that ends at ')'; returns what follows that. */
static const char *write_variable(FILE *stream, const char *name)
{
    const size_t length = strcspn(name, ")");
    const char *at = style_light;
    while ((at = strstr(at, "--")) != NULL) {
        if (strncmp(at, name, length) == 0 && at[length] == ':') {
            const char *value = at + length + 1;
            fprintf(stream, "%.*s", (int)strcspn(value, ";}"), value);
            break;
        }
        at += 2;
    }
    return name + length + 1;
}

void style_alone(FILE *stream)
{
    for (const char *at = style_chart; *at;) {
        if (strncmp(at, "var(", 4) == 0)
            at = write_variable(stream, at + 4);
        else
            fputc(*at++, stream);
    }
}
