/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table/page_table.h"

#include "report/chart/svg.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/table/latex.h"

#include <stdarg.h>
#include <string.h>

enum { CELL_BYTES = 512 };

static void write_text(const struct page_table *table, const char *text)
{
    (table->latex ? latex_text : html_text)(table->stream, text);
}

/* ---- LaTeX ---- */

static void begin_latex(const struct page_table *table, const char *caption, const char *const *heads)
{
    fputs("\\begin{table}\n  \\centering\n  \\caption{", table->stream);
    latex_text(table->stream, caption);
    fputs("}\n  \\begin{tabular}{", table->stream);
    for (int i = 0; i < table->columns; i++)
        fputc(i == 0 ? 'l' : 'r', table->stream);
    fputs("}\n    \\toprule\n    ", table->stream);
    for (int i = 0; i < table->columns; i++) {
        fputs(i ? " & " : "", table->stream);
        latex_text(table->stream, heads[i]);
    }
    fputs(" \\\\\n", table->stream);
}

/* ---- HTML ---- */

/* A wide table scrolls by itself, by keyboard too. */
static void begin_html(const struct page_table *table, const char *caption, const char *const *heads)
{
    if (table->folded) {
        fputs("<details>\n<summary>", table->stream);
        html_text(table->stream, caption);
        fputs("</summary>\n", table->stream);
    }
    fputs("<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"", table->stream);
    html_text(table->stream, caption);
    fputs("\"><table class=\"sortable\">\n", table->stream);
    if (!table->folded) {
        fputs("<caption>", table->stream);
        html_text(table->stream, caption);
        fputs("</caption>\n", table->stream);
    }
    fputs("<thead><tr>", table->stream);
    for (int i = 0; i < table->columns; i++) {
        fputs("<th scope=\"col\">", table->stream);
        html_text(table->stream, heads[i]);
        fputs("</th>", table->stream);
    }
    fputs("</tr></thead>\n", table->stream);
}

/* ---- both ---- */

static void begin(struct page_table *table, const char *caption, const char *const *heads, int count)
{
    table->columns = count;
    table->column = 0;
    table->in_part = false;
    (table->latex ? begin_latex : begin_html)(table, caption, heads);
}

void page_table_begin(struct page_table *table, const char *caption, const char *const *heads, int count)
{
    table->folded = false;
    begin(table, caption, heads, count);
}

void page_table_begin_folded(struct page_table *table, const char *caption, const char *const *heads,
                             int count)
{
    table->folded = true;
    begin(table, caption, heads, count);
}

static void end_row(struct page_table *table)
{
    if (table->column > 0)
        fputs(table->latex ? " \\\\\n" : "</tr>\n", table->stream);
    table->column = 0;
}

static void end_part(struct page_table *table)
{
    end_row(table);
    if (table->in_part && !table->latex)
        fputs("</tbody>\n", table->stream);
    table->in_part = false;
}

void page_table_part(struct page_table *table, const char *title)
{
    end_part(table);
    table->in_part = true;
    fputs(table->latex ? "    \\midrule\n" : "<tbody>\n", table->stream);
    if (!title)
        return;
    fprintf(table->stream,
            table->latex ? "    \\multicolumn{%d}{l}{"
                         : "<tr class=\"part\"><th class=\"group\" scope=\"rowgroup\" colspan=\"%d\">",
            table->columns);
    write_text(table, title);
    fputs(table->latex ? "} \\\\\n" : "</th></tr>\n", table->stream);
}

static void begin_row(struct page_table *table, int arm)
{
    end_row(table);
    if (!table->in_part)
        page_table_part(table, NULL);
    table->column = 1;
    if (table->latex)
        fputs("    {}", table->stream); /* what follows is no argument of the line end before */
    else if (arm < 0)
        fputs("<tr><th scope=\"row\">", table->stream);
    else
        fprintf(table->stream, "<tr><th scope=\"row\" class=\"%s\">", svg_arm_class(arm));
}

/* On the page a long name may be broken behind its commas. */
static void write_name(const struct page_table *table, const char *name)
{
    for (const char *comma; !table->latex && (comma = strchr(name, ',')); name = comma + 1) {
        char part[CELL_BYTES];
        snprintf(part, sizeof part, "%.*s,", (int)(comma - name), name);
        html_text(table->stream, part);
        fputs("<wbr>", table->stream);
    }
    write_text(table, name);
}

void page_table_row(struct page_table *table, int arm, const char *name)
{
    begin_row(table, arm);
    write_name(table, name);
    fputs(table->latex ? "" : "</th>", table->stream);
}

void page_table_contrast(struct page_table *table, const struct comparison *comparison, int arm,
                         const char *baseline)
{
    begin_row(table, arm);
    write_name(table, comparison->arms[arm].name);
    write_text(table, " − ");
    write_name(table, baseline);
    fputs(table->latex ? "" : "</th>", table->stream);
}

void page_table_cell(struct page_table *table, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs(table->latex ? " & " : "<td>", table->stream);
    write_text(table, text);
    fputs(table->latex ? "" : "</td>", table->stream);
    table->column++;
}

void page_table_number(struct page_table *table, double value, int decimals)
{
    char number[HTML_NUMBER_BYTES];
    page_table_cell(table, "%s", html_number(number, value, decimals, 0));
}

void page_table_p(struct page_table *table, double p)
{
    char text[SHORT_NUMBER_BYTES];
    page_table_cell(table, "%s", p_html(text, p));
}

void page_table_end(struct page_table *table)
{
    end_part(table);
    if (table->latex)
        fputs("    \\bottomrule\n  \\end{tabular}\n\\end{table}\n\n", table->stream);
    else
        fprintf(table->stream, "</table></div>\n%s", table->folded ? "</details>\n" : "");
}

/* What is between two ` is code. */
static void write_quoted(const struct page_table *table, char *text)
{
    bool is_code = false;
    for (char *tick; (tick = strchr(text, '`')) != NULL; text = tick + 1) {
        *tick = 0;
        write_text(table, text);
        is_code = !is_code;
        if (!table->latex)
            fputs(is_code ? "<code>" : "</code>", table->stream);
    }
    write_text(table, text);
    if (is_code && !table->latex)
        fputs("</code>", table->stream);
}

void page_table_note(struct page_table *table, const char *format, ...)
{
    char text[2 * CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs(table->latex ? "% " : "<p class=\"note\">", table->stream);
    write_quoted(table, text);
    fputs(table->latex ? "\n\n" : "</p>\n", table->stream);
}
