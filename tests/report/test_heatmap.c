/* SPDX-License-Identifier: Apache-2.0
 *
 * Heatmaps: their statistics against sums written out here, the page's data against the weights, the
 * pictures' cells, and the scale of colours.
 */
#include "report/heatmap/heat_colours.h"
#include "report/heatmap/heatmap_page.h"
#include "report/heatmap/heatmap_svg.h"
#include "report/synthetic_heatmaps.h"
#include "support/check.h"

#include "statistics/student.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---- */

static double entropy_at(const struct heatmap_run *run, enum attention_kind kind, int64_t text, int64_t layer,
                         int64_t head)
{
    return run->kinds[kind].numbers[(text * MADE_LAYERS + layer) * MADE_HEADS + head].entropy;
}

/* The mean over heads of layers first ... MADE_LAYERS - 1 or, with `one`, of the first alone. */
static double text_mean(const struct heatmap_run *run, int64_t text, int64_t first, bool one)
{
    double sum = 0;
    int count = 0;
    for (int64_t layer = first; layer < (one ? first + 1 : MADE_LAYERS); layer++)
        for (int64_t head = 0; head < MADE_HEADS; head++, count++)
            sum += entropy_at(run, ATTENTION_CROSS, text, layer, head);
    return sum / count;
}

static double run_mean(const struct heatmap_run *run, int64_t first, bool one)
{
    double sum = 0;
    for (int64_t text = 0; text < MADE_TEXTS; text++)
        sum += text_mean(run, text, first, one);
    return sum / MADE_TEXTS;
}

static void check_interval(struct interval got, const double *values, int count)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double margin = student_quantile(0.95, count - 1) * sqrt(squares / (count - 1) / count);
    CHECK_INT(got.count, count);
    CHECK_NEAR(got.mean, mean, 1e-12);
    CHECK_NEAR(got.low, mean - margin, 1e-9);
    CHECK_NEAR(got.high, mean + margin, 1e-9);
}

static void test_statistics(int runs)
{
    struct heatmaps maps = synthetic_heatmaps(
        &(struct synthetic_heatmaps){.encoder = true, .sides = 2, .runs = runs, .tokens = 7});
    double values[2][MADE_TEXTS], differences[MADE_TEXTS];
    check_about("%d runs a side", runs);
    CHECK_INT(heatmap_units_are_runs(&maps), runs > 1);
    CHECK(heatmap_comparable(&maps, 1, ATTENTION_CROSS));
    for (int64_t layer = 0; layer <= MADE_LAYERS; layer++) {
        bool one = layer < MADE_LAYERS;
        int64_t first = one ? layer : MADE_LAYERS / 2;
        for (int side = 0; side < 2; side++)
            for (int unit = 0; unit < MADE_TEXTS; unit++)
                values[side][unit] = runs > 1 ? run_mean(&maps.sides[side].runs[unit], first, one)
                                              : text_mean(&maps.sides[side].runs[0], unit, first, one);
        for (int unit = 0; unit < MADE_TEXTS; unit++)
            differences[unit] = values[1][unit] - values[0][unit];
        struct heatmap_choice choice = {ATTENTION_CROSS, one ? layer : HEATMAP_DEEPER_HALF, HEAD_ENTROPY};
        check_interval(heatmap_layer(&maps, 0, choice), values[0], MADE_TEXTS);
        check_interval(heatmap_layer(&maps, 1, choice), values[1], MADE_TEXTS);
        check_interval(heatmap_contrast(&maps, 1, choice), differences, MADE_TEXTS);
    }
    for (int unit = 0; unit < MADE_TEXTS; unit++)
        values[0][unit] = entropy_at(&maps.sides[1].runs[0], ATTENTION_CROSS, unit, 1, 2);
    check_interval(heatmap_head(&maps.sides[1].runs[0], ATTENTION_CROSS, 1, 2, HEAD_ENTROPY), values[0],
                   MADE_TEXTS);
    heatmaps_free(&maps);
}

/* ---- the page ---- */

static int digit_of(char letter)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return (int)(strchr(digits, letter) - digits);
}

/* Number i of a text in base64: its bits are at 16 i, in digits of six bits. */
static int level_at(const char *text, int64_t i)
{
    int bytes[2];
    for (int b = 0; b < 2; b++) {
        int64_t bit = 16 * i + 8 * b, digit = bit / 6, within = bit % 6;
        int pair = digit_of(text[digit]) << 6 | digit_of(text[digit + 1]);
        bytes[b] = pair >> (4 - within) & 0xff;
    }
    return bytes[0] | bytes[1] << 8;
}

static void check_map(const json_t *map, const struct attention_weights *weights)
{
    const char *text = json_string_value(json_object_get(map, "weights"));
    int64_t count = weights->layers * weights->heads * weights->queries * weights->keys;
    const int64_t shape[] = {weights->layers, weights->heads, weights->queries, weights->keys};
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(json_integer_value(json_array_get(json_object_get(map, "shape"), i)), shape[i]);
    if (!CHECK(text) || !CHECK_INT((int64_t)strlen(text), (16 * count + 5) / 6))
        return;
    for (int64_t i = 0; i < count; i++)
        CHECK_NEAR(level_at(text, i) / 65535.0, (double)weights->weights[i], 0.51 / 65535);
}

/* Every weight that is kept is in the data, in its place. `hostile`: and every label, and no markup. */
static void test_data(const struct synthetic_heatmaps *wanted)
{
    struct heatmaps maps = synthetic_heatmaps(wanted);
    char *data = heatmap_data(&maps);
    json_t *object = data ? json_loads(data, 0, NULL) : NULL;
    check_about("data, %s", wanted->hostile ? "hostile" : "plain");
    CHECK(object && !strchr(data, '<'));
    for (int side = 0; object && side < maps.side_count; side++) {
        const json_t *of = json_array_get(json_object_get(object, "sides"), (size_t)side),
                     *texts = json_object_get(of, "texts");
        CHECK_TEXT(json_string_value(json_object_get(of, "name")), maps.sides[side].name);
        CHECK_INT((int64_t)json_array_size(texts), maps.shown);
        for (int64_t text = 0; text < maps.shown; text++) {
            const struct heatmap_example *example = &maps.sides[side].runs[0].examples[text];
            const json_t *one = json_array_get(texts, (size_t)text);
            for (int64_t i = 0; i < example->target.count; i++)
                CHECK_TEXT(json_string_value(json_array_get(json_object_get(one, "target"), (size_t)i)),
                           example->target.labels[i]);
            for (int kind = 0; kind < ATTENTION_KINDS; kind++)
                check_map(json_object_get(json_object_get(one, "maps"),
                                          attention_kind_name((enum attention_kind)kind)),
                          &example->weights[kind]);
        }
    }
    json_decref(object);
    free(data);
    heatmaps_free(&maps);
}

static void test_too_large(void)
{
    struct heatmaps maps =
        synthetic_heatmaps(&(struct synthetic_heatmaps){.sides = 1, .runs = 1, .tokens = 4});
    struct attention_weights *weights = &maps.sides[0].runs[0].examples[0].weights[ATTENTION_DECODER];
    int64_t queries = weights->queries;
    rotary_error error = {0};
    check_about("too many weights");
    weights->queries = HEATMAP_PAGE_WEIGHTS;
    CHECK_INT(heatmap_page_write(&maps, "page.html", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "weights, wanted at most 16777216");
    weights->queries = queries;
    heatmaps_free(&maps);
}

/* ---- pictures ---- */

static int times(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* One map for each head with all labels, and a cell for each weight that is not next to nothing. */
static void test_svg(void)
{
    struct heatmaps maps =
        synthetic_heatmaps(&(struct synthetic_heatmaps){.encoder = true, .sides = 1, .runs = 1, .tokens = 7});
    const struct heatmap_example *example = &maps.sides[0].runs[0].examples[1];
    const struct attention_weights *weights = &example->weights[ATTENTION_CROSS];
    const struct heatmap_picture picture = {
        .title = "a < b", .example = example, .kind = ATTENTION_CROSS, .layer = 1};
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    check_about("svg");
    if (!CHECK(stream))
        return;
    heatmap_svg_write(stream, &picture);
    fclose(stream);
    int cells = 0;
    for (int64_t i = 0; i < MADE_HEADS * weights->queries * weights->keys; i++)
        cells += attention_weights_head(weights, 1, 0)[i] * 63 >= 0.5f;
    CHECK_INT(times(text, "h1v1h-1z"), cells);
    CHECK_INT(times(text, "class=\"frame\""), MADE_HEADS);
    CHECK_INT(times(text, "text-anchor"), MADE_HEADS * (weights->queries + weights->keys));
    CHECK(strstr(text, "<title>a &lt; b</title>"));
    CHECK(strstr(text, ">t7</text>") && strstr(text, ">s12</text>"));
    free(text);
    heatmaps_free(&maps);
}

/* ---- colours ---- */

static double linear(const char *hex)
{
    char digits[3] = {hex[0], hex[1], 0};
    double value = (double)strtol(digits, NULL, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* OKLab's lightness, by its definition. */
static double lightness(double weight, bool dark)
{
    char colour[HEAT_COLOUR_BYTES];
    heat_colour(colour, weight, dark);
    double r = linear(colour + 1), g = linear(colour + 3), b = linear(colour + 5);
    double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
           m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
           s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
}

/* Equal steps of the weight are equal steps of lightness, from the card's colour on. */
static void test_colours(void)
{
    for (int dark = 0; dark < 2; dark++) {
        double first = lightness(0, dark), last = lightness(1, dark);
        check_about("%s", dark ? "dark" : "light");
        CHECK(dark ? first < 0.27 && last > 0.9 : first > 0.99 && last < 0.3);
        for (int i = 0; i <= 100; i++)
            CHECK_NEAR(lightness(i / 100.0, dark), first + (last - first) * i / 100, 0.012);
    }
    char colour[HEAT_COLOUR_BYTES];
    CHECK_TEXT(heat_colour(colour, 0, false), "#ffffff");
}

int main(void)
{
    test_statistics(1);
    test_statistics(SAMPLE_RUNS);
    test_data(&(struct synthetic_heatmaps){.encoder = true, .sides = 2, .runs = 2, .tokens = 7});
    test_data(
        &(struct synthetic_heatmaps){.encoder = true, .hostile = true, .sides = 2, .runs = 1, .tokens = 6});
    test_too_large();
    test_svg();
    test_colours();
    return check_report();
}
