/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores by distance on the page: which runs, and lines where their means are.
 */
#include "file/print.h"
#include "records/measured_decay.h"
#include "records/synthetic.h"
#include "report/chart/decay_svg.h"
#include "report/page_reader.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 10, DISTANCES = 40, GAP = 31, MANY = 250 };

static double mean_of(int64_t head, int64_t i)
{
    return i == GAP ? (double)NAN : 0.3 * (double)head * sin(0.2 * (double)(i + head)) - 0.05 * (double)i;
}

static struct measured_decay make(int64_t layers, int64_t first)
{
    struct measured_decay decay = {
        .position = "rope", .checkpoint = "last", .step = 600, .seed = 1, .sequences = 16, .scaling = "none"};
    struct decay_kind *kind = &decay.kinds[first < 0 ? ATTENTION_ENCODER : ATTENTION_DECODER];
    rotary_error error = {0};
    const struct decay_kind sizes = {
        .layers = layers, .heads = HEADS, .axes = {{first, DISTANCES, NULL}, {0, DISTANCES, NULL}}};
    CHECK_INT(decay_kind_create(kind, &sizes, &error), ROTARY_OK);
    for (int64_t i = 0; i < layers * HEADS * DISTANCES; i++)
        kind->means[DECAY_SCORE][i] = mean_of(i / DISTANCES % HEADS, i % DISTANCES);
    for (int64_t i = 0; i < layers * DISTANCES; i++)
        kind->axes[DECAY_BY_DISTANCE].counts[i] = 1;
    return decay;
}

/* Each head is a line through its means, with a gap where there is none. */
static void check_lines(const char *page, const char *title, int64_t first)
{
    const struct figure figure = figure_of(page, title);
    struct element element;
    int64_t head = 0;
    for (const char *at = figure.begin; figure_next(&figure, &at, "path", "curve", &element); head++) {
        char name[32], class[32];
        snprintf(name, sizeof name, "head %lld", (long long)head + 1);
        snprintf(class, sizeof class, "e%lld", (long long)head);
        check_about("%s, %s", title, name);
        CHECK_TEXT(element.text, name);
        CHECK(has_class(&element, class));
        snprintf(class, sizeof class, "d%lld", (long long)head % 4);
        CHECK(has_class(&element, class));
        CHECK_INT(element.points, DISTANCES - 1);
        for (int i = 0; i < element.points; i++) {
            const int64_t distance = i < GAP ? i : i + 1;
            CHECK_NEAR(element.x[i], figure_x(&figure, (double)(first + distance)), 0.3);
            CHECK_NEAR(element.y[i], figure_y(&figure, mean_of(head, distance)), 0.3);
        }
    }
    CHECK_INT(head, HEADS);
    check_about("%s", "");
}

static void write_decay(const char *folder, int64_t layers, int64_t first)
{
    struct measured_decay decay = make(layers, first);
    rotary_error error = {0};
    CHECK_INT(measured_decay_write(&decay, folder, &error), ROTARY_OK);
    measured_decay_free(&decay);
}

static void test_page(void)
{
    static const char *const names[] = {"rope", "roper", "none"};
    const double halves[] = {530, 380, 400};
    const char *folder = scratch_path("compared");
    struct synthetic_run run = synthetic_quick;
    synthetic_comparison(folder, &run, 2, 3, names, halves);
    struct collection collection = synthetic_read(folder);
    char *page = page_of(&collection);
    CHECK(!strstr(page, "<h2>Scores by distance"));
    free(page);
    write_decay(synthetic_path(folder, "rope-2"), 1, -20);
    write_decay(synthetic_path(folder, "none-1"), 1, 0);
    page = page_of(&collection);
    CHECK(strstr(page, "<details open>\n<summary>rope, seed 2</summary>"));
    CHECK(strstr(page, "<details open>\n<summary>none, seed 1</summary>"));
    CHECK(!strstr(page, "<summary>roper, seed"));
    CHECK(strstr(page, "16 validation sequences, step 600.<"));
    check_lines(page, "Scores by distance: rope, encoder", -20);
    check_lines(page, "Scores by distance: none, decoder", 0);
    free(page);
    /* Of several runs the first counts; more arms than two are folded up. */
    write_decay(synthetic_path(folder, "rope-1"), 2, 0);
    write_decay(synthetic_path(folder, "roper-1"), 2, 0);
    page = page_of(&collection);
    CHECK(strstr(page, "<details>\n<summary>rope, seed 1</summary>"));
    CHECK(!strstr(page, ", encoder</h3>"));
    CHECK(strstr(page, ">layer 2</text>"));
    free(page);
    collection_free(&collection);
}

/* ---- many points ---- */

static const double values[2] = {4, 1};

static struct decay_panel panel_of(const void *context, int64_t index)
{
    static double many[2 * MANY];
    static int64_t counts[MANY];
    for (int64_t i = 0; i < MANY; i++) {
        many[i] = many[MANY + i] = values[i % 3 == 0] * (1 + (double)i);
        counts[i] = i % 3 == 0 ? 7 : 2;
    }
    (void)context;
    return (struct decay_panel){.first = index, .lines = 2, .points = MANY, .values = many, .counts = counts};
}

/* Three distances are a point, at the mean of all pairs that they have. */
static void test_bins(void)
{
    const struct decay_chart chart = {.label = "x", .panel = panel_of, .count = 1, .columns = 2};
    struct print print;
    rotary_error error = {0};
    if (!CHECK_INT(print_begin(&print, &error), ROTARY_OK))
        return;
    fputs("<figure><h3>bins</h3>\n", print.stream);
    decay_svg(print.stream, &chart);
    fputs("</figure>", print.stream);
    if (!CHECK_INT(print_end(&print, &error), ROTARY_OK))
        return;
    const struct figure figure = figure_of(print.text, "bins");
    struct element element;
    const char *at = figure.begin;
    CHECK(figure_next(&figure, &at, "path", "curve", &element));
    CHECK_INT(element.points, (MANY + 2) / 3);
    for (int i = 0; 3 * i + 2 < MANY; i++) {
        const double first = 3.0 * i;
        CHECK_NEAR(element.x[i], figure_x(&figure, (7 * first + 2 * (first + 1) + 2 * (first + 2)) / 11),
                   0.3);
        CHECK_NEAR(element.y[i],
                   figure_y(&figure, (7 * (first + 1) + 8 * (first + 2) + 8 * (first + 3)) / 11), 0.3);
    }
    free(print.text);
}

int main(void)
{
    test_page();
    test_bins();
    return check_report();
}
