/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of heads and layers as JSON; docs/how-to/heatmaps.md describes the object.
 */
#include "report/heatmap/heatmap_page.h"

#include "base/fail.h"
#include "file/file.h"

#include <math.h>

static json_t *interval_json(struct interval interval)
{
    return json_pack("{s:o, s:o, s:o, s:I}", "mean", file_json_number(interval.mean), "low",
                     file_json_number(interval.low), "high", file_json_number(interval.high), "count",
                     (json_int_t)interval.count);
}

static json_t *head_json(const struct heatmap_run *run, enum attention_kind kind, int64_t layer, int64_t head)
{
    const struct heatmap_heads *heads = &run->kinds[kind];
    struct head_position position = head_position_of(&heads->offsets[layer * heads->heads + head]);
    json_t *object = json_pack("{s:s, s:I, s:I}", "kind", attention_kind_name(kind), "layer",
                               (json_int_t)layer + 1, "head", (json_int_t)head + 1);
    for (int i = 0; i < HEAD_NUMBERS; i++)
        json_object_set_new(object, head_number_names[i],
                            interval_json(heatmap_head(run, kind, layer, head, (enum head_number)i)));
    json_object_set_new(object, "offset",
                        isnan(position.share) ? json_null() : json_integer(position.offset));
    json_object_set_new(object, "offset_share", file_json_number(position.share));
    return object;
}

static json_t *heads_json(const struct heatmap_run *run)
{
    json_t *list = json_array();
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        for (int64_t layer = 0; layer < run->kinds[kind].layers; layer++)
            for (int64_t head = 0; head < run->kinds[kind].heads; head++)
                json_array_append_new(list, head_json(run, (enum attention_kind)kind, layer, head));
    return list;
}

/* What summarises a layer: the mean of a side, or its difference from the first. */
typedef struct interval summary(const struct heatmaps *maps, int side, struct heatmap_choice choice);

static json_t *layer_json(const struct heatmaps *maps, int side, struct heatmap_choice choice,
                          summary *summarise)
{
    json_t *object = json_pack("{s:s, s:o}", "kind", attention_kind_name(choice.kind), "layer",
                               choice.layer == HEATMAP_DEEPER_HALF ? json_string("deeper half")
                                                                   : json_integer(choice.layer + 1));
    if (summarise == heatmap_contrast)
        json_object_update_new(
            object, json_pack("{s:s, s:s}", "side", maps->sides[side].name, "baseline", maps->sides[0].name));
    for (int i = 0; i < HEAD_NUMBERS; i++) {
        choice.number = (enum head_number)i;
        json_object_set_new(object, head_number_names[i], interval_json(summarise(maps, side, choice)));
    }
    return object;
}

/* Appends the layers of a side, of all kinds that can be summarised. */
static void add_layers(json_t *list, const struct heatmaps *maps, int side, summary *summarise)
{
    for (int i = 0; i < ATTENTION_KINDS; i++) {
        struct heatmap_choice choice = {.kind = (enum attention_kind)i};
        int64_t layers = maps->sides[side].runs[0].kinds[i].layers;
        if (layers == 0 || (summarise == heatmap_contrast && !heatmap_comparable(maps, side, choice.kind)))
            continue;
        for (; choice.layer < layers; choice.layer++)
            json_array_append_new(list, layer_json(maps, side, choice, summarise));
        choice.layer = HEATMAP_DEEPER_HALF;
        json_array_append_new(list, layer_json(maps, side, choice, summarise));
    }
}

static json_t *layers_json(const struct heatmaps *maps, int side)
{
    json_t *list = json_array();
    add_layers(list, maps, side, heatmap_layer);
    return list;
}

static json_t *differences_json(const struct heatmaps *maps)
{
    json_t *list = json_array();
    for (int side = 1; side < maps->side_count; side++)
        add_layers(list, maps, side, heatmap_contrast);
    return list;
}

static json_t *runs_json(const struct heatmap_side *side)
{
    json_t *list = json_array();
    for (int i = 0; i < side->run_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:o}", "folder", side->runs[i].folder, "seed",
                                              (json_int_t)side->runs[i].seed, "recomputed_difference",
                                              file_json_number(side->runs[i].difference)));
    return list;
}

rotary_status heatmap_json(const struct heatmaps *maps, json_t **object, rotary_error *error)
{
    json_t *sides = json_array();
    for (int i = 0; i < maps->side_count; i++) {
        const struct heatmap_side *side = &maps->sides[i];
        json_array_append_new(sides,
                              json_pack("{s:s, s:o, s:o, s:o}", "name", side->name, "runs", runs_json(side),
                                        "layers", layers_json(maps, i), "heads", heads_json(&side->runs[0])));
    }
    json_t *made = json_pack("{s:s, s:I, s:s, s:o}", "task", maps->task, "texts", (json_int_t)maps->texts,
                             "units", heatmap_units_are_runs(maps) ? "runs" : "texts", "sides", sides);
    if (made && maps->side_count > 1)
        json_object_set_new(made, "differences", differences_json(maps));
    if (!made)
        return rotary_fail_memory(error, "for the numbers of heads");
    *object = made;
    return ROTARY_OK;
}
