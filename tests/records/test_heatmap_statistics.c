/* SPDX-License-Identifier: Apache-2.0
 *
 * Entropy by layer over seeds, of three sides, and the differences from the first paired by seed: against
 * SciPy.
 */
#include "records/heatmap_goldens.h"
#include "records/heatmaps.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

enum { SIDES = 3, RUNS = 3, TEXTS = 4, LAYERS = 3, HEADS = 2 };

/* That of heatmap_goldens.py. */
static double entropy_of(int side, int run, int text, int layer, int head)
{
    int mixed = side * 7 + run * 5 + text * 3 + layer * 11 + head * 13 + side * run * 2 + run * layer * 3;
    return mixed * mixed % 29 / 8.0;
}

static void fill(struct heatmap_run *run, int side, int index)
{
    struct heatmap_heads *heads = &run->kinds[ATTENTION_DECODER];
    *run = (struct heatmap_run){.seed = index + 1, .texts = TEXTS};
    heads->layers = LAYERS;
    heads->heads = HEADS;
    heads->numbers = calloc(TEXTS * LAYERS * HEADS, sizeof *heads->numbers);
    if (!heads->numbers)
        exit(1);
    for (int i = 0; i < TEXTS * LAYERS * HEADS; i++)
        heads->numbers[i] = (struct head_numbers){
            .entropy = entropy_of(side, index, i / (LAYERS * HEADS), i / HEADS % LAYERS, i % HEADS),
            .normalised = (double)NAN};
}

static void check(struct interval found, const double wanted[3])
{
    CHECK_INT(found.count, RUNS);
    CHECK_NEAR(found.mean, wanted[0], 1e-12);
    CHECK_NEAR(found.low, wanted[1], 1e-9);
    CHECK_NEAR(found.high, wanted[2], 1e-9);
}

int main(void)
{
    struct heatmaps maps = {.texts = TEXTS, .side_count = SIDES};
    for (int side = 0; side < SIDES; side++) {
        maps.sides[side] =
            (struct heatmap_side){.runs = calloc(RUNS, sizeof(struct heatmap_run)), .run_count = RUNS};
        for (int i = 0; maps.sides[side].runs && i < RUNS; i++)
            fill(&maps.sides[side].runs[i], side, i);
    }
    CHECK(!heatmap_comparable(&maps, 0, ATTENTION_DECODER));
    CHECK(!heatmap_comparable(&maps, 1, ATTENTION_CROSS));
    for (int side = 0; side < SIDES; side++)
        for (int layer = 0; layer <= LAYERS; layer++) {
            const struct heatmap_choice choice = {ATTENTION_DECODER,
                                                  layer < LAYERS ? layer : HEATMAP_DEEPER_HALF, HEAD_ENTROPY};
            check_about("side %d, layer %d", side, layer);
            check(heatmap_layer(&maps, side, choice), heatmap_goldens[side][layer].entropy);
            if (side > 0 && CHECK(heatmap_comparable(&maps, side, ATTENTION_DECODER)))
                check(heatmap_contrast(&maps, side, choice), heatmap_goldens[side][layer].difference);
        }
    check_about("%s", "what no run has");
    const struct heatmap_choice none = {ATTENTION_DECODER, 0, HEAD_NORMALISED};
    CHECK_INT(heatmap_layer(&maps, 2, none).count, 0);
    CHECK(isnan(heatmap_contrast(&maps, 2, none).mean));
    heatmaps_free(&maps);
    return check_report();
}
