/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page's script draws:
 *
 *     "kinds"    [{"name", "title", "layers", "heads"}]: those that any side has; the larger of both sides
 *     "light", "dark"  the colours of weights 0 ... 1, in equal steps
 *     "sides"    [{"name", "texts": [{"source", "target"     labels
 *                                     "maps": {kind: {"shape", "weights"}}
 *                                     "numbers": {kind: [[entropy, normalised, distance] of each layer and
 * head]}}]}]
 *
 * Weights are base64 of 16-bit numbers, little-endian, [layers, heads, queries, keys]: 65535 is the weight 1.
 */
#include "report/heatmap/heatmap_names.h"
#include "report/heatmap/heatmap_page.h"

#include "file/file.h"
#include "report/heatmap/heat_colours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 256 };

/* The weights in base64, without padding; NULL without memory. */
static char *encode_weights(const struct attention_weights *weights)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int64_t count = weights->layers * weights->heads * weights->queries * weights->keys;
    char *text = malloc((size_t)(count * 2 + 2) / 3 * 4 + 1), *end = text;
    uint32_t bits = 0;
    int held = 0; /* bits that wait, the last ones of `bits` */
    for (int64_t i = 0; text && i < 2 * count; i++) {
        long level = lround((double)weights->weights[i / 2] * 65535.0);
        bits = bits << 8 | ((uint32_t)level >> 8 * (i % 2) & 0xffu);
        for (held += 8; held >= 6; held -= 6)
            *end++ = digits[bits >> (held - 6) & 63u];
    }
    if (text && held > 0)
        *end++ = digits[bits << (6 - held) & 63u];
    if (text)
        *end = 0;
    return text;
}

static json_t *labels_json(const struct heatmap_text *text)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < text->count; i++)
        json_array_append_new(list, json_string(text->labels[i]));
    return list;
}

static json_t *map_json(const struct attention_weights *weights)
{
    char *text = encode_weights(weights);
    json_t *map =
        json_pack("{s:[I,I,I,I], s:s*}", "shape", (json_int_t)weights->layers, (json_int_t)weights->heads,
                  (json_int_t)weights->queries, (json_int_t)weights->keys, "weights", text);
    free(text);
    return map;
}

static json_t *rounded(double value)
{
    return isfinite(value) ? json_real(round(value * 1e6) / 1e6) : json_null();
}

static json_t *numbers_json(const struct heatmap_heads *heads, int64_t text)
{
    json_t *list = json_array();
    int64_t count = heads->layers * heads->heads;
    for (int64_t i = 0; i < count; i++) {
        const struct head_numbers *numbers = &heads->numbers[text * count + i];
        json_array_append_new(list, json_pack("[o,o,o]", rounded(numbers->entropy),
                                              rounded(numbers->normalised), rounded(numbers->distance)));
    }
    return list;
}

static json_t *text_json(const struct heatmap_run *run, int64_t text)
{
    const struct heatmap_example *example = &run->examples[text];
    json_t *maps = json_object(), *numbers = json_object();
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        if (run->kinds[kind].layers == 0)
            continue;
        const char *name = attention_kind_name((enum attention_kind)kind);
        json_object_set_new(maps, name, map_json(&example->weights[kind]));
        json_object_set_new(numbers, name, numbers_json(&run->kinds[kind], text));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "source", labels_json(&example->source), "target",
                     labels_json(&example->target), "maps", maps, "numbers", numbers);
}

static json_t *sides_json(const struct heatmaps *maps)
{
    json_t *sides = json_array();
    for (int i = 0; i < maps->side_count; i++) {
        json_t *texts = json_array();
        for (int64_t text = 0; text < maps->shown; text++)
            json_array_append_new(texts, text_json(&maps->sides[i].runs[0], text));
        json_array_append_new(sides, json_pack("{s:s, s:o}", "name", maps->sides[i].name, "texts", texts));
    }
    return sides;
}

static int64_t larger(const struct heatmaps *maps, enum attention_kind kind, bool heads)
{
    int64_t most = 0;
    for (int i = 0; i < maps->side_count; i++) {
        const struct heatmap_heads *of = &maps->sides[i].runs[0].kinds[kind];
        int64_t count = heads ? of->heads : of->layers;
        most = count > most ? count : most;
    }
    return most;
}

static json_t *kinds_json(const struct heatmaps *maps)
{
    json_t *kinds = json_array();
    for (int i = 0; i < ATTENTION_KINDS; i++) {
        enum attention_kind kind = (enum attention_kind)i;
        if (larger(maps, kind, false) > 0)
            json_array_append_new(kinds,
                                  json_pack("{s:s, s:s, s:I, s:I}", "name", attention_kind_name(kind),
                                            "title", heatmap_kind_title(kind, heatmap_has_encoder(maps)),
                                            "layers", (json_int_t)larger(maps, kind, false), "heads",
                                            (json_int_t)larger(maps, kind, true)));
    }
    return kinds;
}

static json_t *colours_json(bool dark)
{
    json_t *list = json_array();
    char colour[HEAT_COLOUR_BYTES];
    for (int i = 0; i < COLOURS; i++)
        json_array_append_new(list, json_string(heat_colour(colour, i / (COLOURS - 1.0), dark)));
    return list;
}

/* "<" stands in texts alone, where JSON may have it as an escape. Without any the script element that holds
 * the text ends where it should. */
static char *without_markup(const char *json)
{
    size_t count = strlen(json), signs = 0;
    for (size_t i = 0; i < count; i++)
        signs += json[i] == '<';
    char *text = malloc(count + 5 * signs + 1), *end = text;
    for (size_t i = 0; text && i <= count; i++) {
        if (json[i] == '<')
            end = stpcpy(end, "\\u003c");
        else
            *end++ = json[i];
    }
    return text;
}

char *heatmap_data(const struct heatmaps *maps)
{
    json_t *data = json_pack("{s:o, s:o, s:o, s:o}", "kinds", kinds_json(maps), "light", colours_json(false),
                             "dark", colours_json(true), "sides", sides_json(maps));
    char *json = data ? file_json_text(data, JSON_COMPACT) : NULL, *text = json ? without_markup(json) : NULL;
    free(json);
    json_decref(data);
    return text;
}
