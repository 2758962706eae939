/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_reader.h"

#include "file/file.h"
#include "report/report.h"
#include "support/check.h"
#include "support/scratch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *entity, *text;
} entities[] = {{"&lt;", "<"},  {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", "\""},
                {"&#39;", "'"}, {"−", "-"},    {"–", "-"}};

char *page_of(const struct collection *collection)
{
    rotary_error error = {0};
    char *text = NULL;
    size_t count;
    const char *path = scratch_path("page.html");
    CHECK_INT(report_write(collection, path, NULL, &error), ROTARY_OK);
    CHECK_INT(file_read(path, 1 << 24, &text, &count, &error), ROTARY_OK);
    return text;
}

/* Copies what is between begin and end, without elements. */
static void decode(char text[PAGE_TEXT_BYTES], const char *begin, const char *end)
{
    size_t length = 0;
    while (begin < end && length + 8 < PAGE_TEXT_BYTES) {
        if (*begin == '<') {
            while (begin < end && *begin != '>')
                begin++;
            begin++;
            continue;
        }
        size_t i = 0, count = sizeof entities / sizeof entities[0];
        while (i < count && strncmp(begin, entities[i].entity, strlen(entities[i].entity)) != 0)
            i++;
        if (i < count) {
            text[length++] = *entities[i].text;
            begin += strlen(entities[i].entity);
        } else {
            bool grouping = *begin == ',' && length > 0 && isdigit((unsigned char)text[length - 1]) &&
                            isdigit((unsigned char)begin[1]);
            if (!grouping)
                text[length++] = *begin;
            begin++;
        }
    }
    text[length] = 0;
}

/* ---- tables ---- */

struct cursor {
    const char *at, *end;
};

/* The table whose caption or summary begins with `head`. */
static struct cursor table_of(const char *page, const char *head)
{
    static const char *const before[] = {"<caption>", "<summary>"};
    for (int i = 0; i < 2; i++)
        for (const char *at = strstr(page, before[i]); at; at = strstr(at + 1, before[i]))
            if (strncmp(at + strlen(before[i]), head, strlen(head)) == 0)
                return (struct cursor){strstr(at, "<thead>"), strstr(at, "</table>")};
    check_about("the table %s", head);
    CHECK(!"is on the page");
    return (struct cursor){NULL, NULL};
}

/* The next cell of a row that ends at `end`. */
static bool next_cell(struct cursor *row, char text[PAGE_TEXT_BYTES])
{
    const char *at = row->at;
    while (at && at < row->end && strncmp(at, "<th", 3) != 0 && strncmp(at, "<td", 3) != 0)
        at++;
    if (!at || at >= row->end)
        return false;
    const char *begin = strchr(at, '>') + 1, *end = begin;
    while (strncmp(end, "</th>", 5) != 0 && strncmp(end, "</td>", 5) != 0)
        end++;
    decode(text, begin, end);
    row->at = end;
    return true;
}

static bool next_row(struct cursor *table, struct cursor *row)
{
    const char *at = table->at ? strstr(table->at, "<tr>") : NULL;
    if (!at || at >= table->end)
        return false;
    *row = (struct cursor){at + 4, strstr(at, "</tr>")};
    table->at = row->end;
    return true;
}

static int column_of(struct cursor *table, const char *heading)
{
    struct cursor row;
    char text[PAGE_TEXT_BYTES];
    if (!next_row(table, &row))
        return -1;
    for (int column = 0; next_cell(&row, text); column++)
        if (strcmp(text, heading) == 0)
            return column;
    return -1;
}

const char *page_cell(const char *page, const char *head, const char *column, const char *first,
                      const char *second)
{
    static char text[PAGE_TEXT_BYTES];
    struct cursor table = table_of(page, head), row;
    int wanted = column_of(&table, column);
    while (wanted >= 0 && next_row(&table, &row)) {
        struct cursor cells = row;
        if (!next_cell(&cells, text) || strcmp(text, first) != 0 ||
            (second && (!next_cell(&cells, text) || strcmp(text, second) != 0)))
            continue;
        for (int i = 0; i <= wanted; i++)
            if (!next_cell(&row, text))
                text[0] = 0;
        return text;
    }
    CHECK(!"the cell is there");
    printf("    %s, %s, %s %s\n", head, column, first, second ? second : "");
    text[0] = 0;
    return text;
}

double page_number(const char *page, const char *head, const char *column, const char *first,
                   const char *second)
{
    const char *text = page_cell(page, head, column, first, second);
    char *end;
    double value = strtod(text, &end);
    return end == text ? (double)NAN : value;
}

int page_rows(const char *page, const char *head)
{
    struct cursor table = table_of(page, head), row;
    int rows = -1; /* not the headings */
    while (next_row(&table, &row))
        rows++;
    return rows;
}

/* ---- drawings ---- */

/* The value of an attribute of the element at `at`; "" if it has none. */
static void attribute(const char *at, const char *key, char *value, size_t room)
{
    char before[32];
    int length = snprintf(before, sizeof before, " %s=\"", key);
    const char *end = strchr(at, '>'), *found = strstr(at, before);
    value[0] = 0;
    if (!found || found > end)
        return;
    found += length;
    snprintf(value, room, "%.*s", (int)strcspn(found, "\""), found);
}

static double coordinate(const char *at, const char *key)
{
    char text[32];
    attribute(at, key, text, sizeof text);
    return strtod(text, NULL);
}

/* M or L before every point. */
static void read_points(struct element *element, const char *at)
{
    const char *data = strstr(at, " d=\""), *end = strchr(data + 4, '"');
    for (const char *next = data + 4; next < end && element->points < PAGE_POINTS;) {
        char *rest;
        element->x[element->points] = strtod(next + 1, &rest);
        element->y[element->points++] = strtod(rest, &rest);
        next = rest;
    }
}

static void read_element(struct element *element, const char *at, const char *name)
{
    *element = (struct element){.points = 0};
    snprintf(element->name, sizeof element->name, "%s", name);
    attribute(at, "class", element->class, sizeof element->class);
    attribute(at, "text-anchor", element->anchor, sizeof element->anchor);
    const char *end = strchr(at, '>');
    if (strcmp(name, "text") == 0) {
        element->x1 = coordinate(at, "x");
        element->y1 = coordinate(at, "y");
        decode(element->text, end + 1, strstr(end, "</text>"));
    } else if (strcmp(name, "line") == 0) {
        element->x1 = coordinate(at, "x1");
        element->y1 = coordinate(at, "y1");
        element->x2 = coordinate(at, "x2");
        element->y2 = coordinate(at, "y2");
    } else if (strncmp(end + 1, "<title>", 7) == 0) {
        decode(element->text, end + 8, strstr(end, "</title>"));
        char moved[64];
        attribute(at, "transform", moved, sizeof moved);
        if (sscanf(moved, "translate(%lf %lf)", &element->x1, &element->y1) != 2)
            read_points(element, at);
    }
}

bool has_class(const struct element *element, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = element->class; *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

bool figure_next(const struct figure *figure, const char **at, const char *name, const char *class,
                 struct element *element)
{
    char opening[16];
    snprintf(opening, sizeof opening, "<%s ", name);
    for (const char *found = strstr(*at, opening); found && found < figure->end;
         found = strstr(found + 1, opening)) {
        read_element(element, found, name);
        *at = found + 1;
        if (has_class(element, class))
            return true;
    }
    *at = figure->end;
    return false;
}

/* A coordinate as a linear function of the values that are written at ticks. */
static void read_axis(const struct figure *figure, bool below, double *place, double *distance)
{
    const char *at = figure->begin;
    struct element tick;
    double first = (double)NAN, first_place = 0;
    *place = *distance = 0;
    while (figure_next(figure, &at, "text", "tick", &tick)) {
        if ((strcmp(tick.anchor, "middle") == 0) != below)
            continue;
        double value = strtod(tick.text, NULL), here = below ? tick.x1 : tick.y1 - 4.5;
        if (isnan(first)) {
            first = value;
            first_place = here;
        } else { /* the last tick is the farthest */
            *distance = (here - first_place) / (value - first);
            *place = first_place - *distance * first;
        }
    }
}

struct figure figure_of(const char *page, const char *title)
{
    char heading[128];
    snprintf(heading, sizeof heading, "<h3>%s</h3>", title);
    struct figure figure = {.begin = strstr(page, heading)};
    check_about("the figure %s", title);
    if (!CHECK(figure.begin != NULL))
        return (struct figure){.begin = "", .end = ""};
    /* A second drawing, of another width or axis, has the same marks. */
    static const char *const ends[] = {"<svg class=\"narrow\"", "<template>"};
    figure.end = strstr(figure.begin, "</figure>");
    for (int i = 0; i < 2; i++) {
        const char *end = strstr(figure.begin, ends[i]);
        figure.end = end && end < figure.end ? end : figure.end;
    }
    read_axis(&figure, true, &figure.x_at, &figure.x_distance);
    read_axis(&figure, false, &figure.y_at, &figure.y_distance);
    return figure;
}

double figure_x(const struct figure *figure, double value)
{
    return figure->x_at + figure->x_distance * value;
}

double figure_y(const struct figure *figure, double value)
{
    return figure->y_at + figure->y_distance * value;
}
