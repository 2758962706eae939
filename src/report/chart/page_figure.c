/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/page_figure.h"

#include "report/html.h"

#include <ctype.h>
#include <string.h>

void figure_give(const struct figure_taker *taker, const struct page_figure *figure)
{
    taker->take(taker->context, figure);
}

/* Values of keys differ in their points and signs, names in letters of any script. */
static bool is_kept(char letter)
{
    return isalnum((unsigned char)letter) || (unsigned char)letter >= 0x80 || strchr("=._-", letter);
}

const char *figure_id(char id[FIGURE_ID_BYTES], const char *title)
{
    size_t length = 0;
    for (; *title && length + 1 < FIGURE_ID_BYTES; title++) {
        if (is_kept(*title) && (length > 0 || isalnum((unsigned char)*title)))
            id[length++] = (char)tolower((unsigned char)*title);
        else if (length > 0 && id[length - 1] != '-')
            id[length++] = '-';
    }
    while (length > 0 && id[length - 1] == '-')
        length--;
    id[length] = 0;
    return id;
}

static void write_values(FILE *stream, const struct page_figure *figure)
{
    char id[FIGURE_ID_BYTES];
    if (figure->same_values) {
        fprintf(stream, "<pre class=\"csv\" data-of=\"%s\" hidden></pre>\n",
                figure_id(id, figure->same_values));
        return;
    }
    fputs("<pre class=\"csv\" hidden>", stream);
    figure->csv(stream, figure->argument);
    fputs("</pre>\n", stream);
}

void figure_html(FILE *stream, const struct page_figure *figure)
{
    char id[FIGURE_ID_BYTES];
    fprintf(stream, "<figure class=\"card%s\" id=\"%s\">\n<h3>", figure->of_arms ? " arms" : "",
            figure_id(id, figure->title));
    html_text(stream, figure->title);
    fputs("</h3>\n", stream);
    figure->draw(stream, figure->argument, (struct svg_look){0});
    if (figure->narrow)
        figure->draw(stream, figure->argument, (struct svg_look){.narrow = true});
    fputs("<figcaption>", stream);
    html_text(stream, figure->caption);
    fputs("</figcaption>\n", stream);
    if (figure->log) {
        fputs("<template>\n", stream);
        figure->draw(stream, figure->argument, (struct svg_look){.log = true});
        fputs("</template>\n", stream);
    }
    write_values(stream, figure);
    fputs("</figure>\n", stream);
}
