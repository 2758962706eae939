/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/chart_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longer names are cut. */
enum { NAME_LETTERS = 14, NAME_END = 5 };
enum { CHART_HEIGHT = 370 };
static const double letter_width = 8.2, label_distance = 16;

static bool is_key_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
}

void chart_label(char label[CHART_LABEL_BYTES], const struct comparison *comparison, int arm)
{
    const char *name = comparison->arms[arm].name;
    size_t length = 0;
    while (*name && length + 1 < CHART_LABEL_BYTES) {
        const char *end = name;
        while (is_key_letter(*end))
            end++;
        bool starts = length == 0 || label[length - 1] == ',';
        if (starts && end > name && *end == '=')
            name = end + 1;
        if (*name)
            label[length++] = *name++;
    }
    label[length] = 0;
    if (length <= NAME_LETTERS)
        return;
    size_t kept = NAME_LETTERS - NAME_END - 1, rest = length - NAME_END;
    while (kept > 0 && ((unsigned char)label[kept] & 0xc0) == 0x80)
        kept--;
    while (((unsigned char)label[rest] & 0xc0) == 0x80)
        rest++;
    char tail[NAME_END + 1];
    snprintf(tail, sizeof tail, "%s", label + rest);
    snprintf(label + kept, CHART_LABEL_BYTES - kept, "…%s", tail);
}

double chart_name_width(const struct comparison *comparison)
{
    size_t longest = 0;
    for (int i = 0; i < comparison->arm_count; i++) {
        char label[CHART_LABEL_BYTES];
        chart_label(label, comparison, i);
        size_t length = strlen(label);
        longest = length > longest ? length : longest;
    }
    return letter_width * (double)(longest > NAME_LETTERS ? NAME_LETTERS + 2 : longest);
}

static void write_label(FILE *stream, int arm, double x, double y, const char *label)
{
    char class[16];
    snprintf(class, sizeof class, "label %s", svg_arm_class(arm));
    svg_text(stream, class, "start", x, y + 4.5, label);
}

void chart_name(FILE *stream, const struct comparison *comparison, int arm, double x, double y)
{
    char label[CHART_LABEL_BYTES];
    chart_label(label, comparison, arm);
    write_label(stream, arm, x, y, label);
}

struct svg_frame chart_frame(int names, double width)
{
    const double height = fmax(CHART_HEIGHT, label_distance * names + 90);
    return (struct svg_frame){
        .left = 50, .right = SVG_WIDTH - 26 - width, .top = 34, .bottom = height - CHART_BELOW};
}

struct svg_frame chart_names_frame(const struct comparison *comparison)
{
    return chart_frame(comparison->arm_count, chart_name_width(comparison));
}

static int count_of(const struct chart_names *names)
{
    return names->names ? names->count : names->comparison->arm_count;
}

/* Ends above that of a name; of equal ones the first is above. */
static int ends_above(const struct chart_names *names, int index)
{
    const double y = names->end_of(names->argument, index).y;
    int above = 0;
    for (int i = 0; i < count_of(names); i++) {
        const double other = names->end_of(names->argument, i).y;
        above += other < y || (other == y && i < index);
    }
    return above;
}

void chart_names(const struct chart_names *names)
{
    const int count = count_of(names);
    const double x = names->frame.right + names->gap,
                 highest = names->frame.bottom - 6 - label_distance * (count - 1);
    double below = -(double)INFINITY;
    for (int placed = 0; placed < count; placed++)
        for (int i = 0; i < count; i++) {
            const struct chart_end end = names->end_of(names->argument, i);
            if (!isfinite(end.y) || ends_above(names, i) != placed)
                continue;
            const double y = fmin(fmax(end.y, below), highest + label_distance * placed);
            below = y + label_distance;
            if (isfinite(end.x))
                svg_arm_line(names->stream, "leader", i, (const double[]){end.x, end.y, x - 3, y});
            if (names->names)
                write_label(names->stream, i, x, y, names->names[i]);
            else
                chart_name(names->stream, names->comparison, i, x, y);
        }
}
