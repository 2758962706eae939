/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table/latex.h"

#include <string.h>

static const struct {
    const char *text, *latex;
} escapes[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "$<$"},
    {">", "$>$"},
    {"−", "$-$"},
    {"≤", "$\\leq$"},
    {"–", "--"},
    {"\"", "''"},
    {"|", "$|$"},
    {"…", "\\dots{}"},
};

void latex_text(FILE *stream, const char *text)
{
    const size_t count = sizeof escapes / sizeof escapes[0];
    while (*text) {
        size_t i = 0;
        while (i < count && strncmp(text, escapes[i].text, strlen(escapes[i].text)) != 0)
            i++;
        if (i < count) {
            fputs(escapes[i].latex, stream);
            text += strlen(escapes[i].text);
        } else {
            const unsigned char byte = (unsigned char)*text++;
            fputc(byte < 0x20 || byte == 0x7f ? ' ' : byte, stream);
        }
    }
}
