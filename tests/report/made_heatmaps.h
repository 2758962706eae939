/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up heads of two encoder–decoders, or of one decoder, for tests of pages.
 */
#ifndef MADE_HEATMAPS_H
#define MADE_HEATMAPS_H

#include "records/heatmaps.h"

enum { MADE_LAYERS = 2, MADE_HEADS = 3, MADE_TEXTS = 3, MADE_RUNS = 3 };

struct made_heatmaps {
    bool encoder;    /* sources of 5 tokens more than targets */
    bool hostile;    /* labels and names full of markup */
    int sides, runs; /* runs of a side, at most MADE_RUNS */
    int64_t tokens;  /* of the first target; the others have one more each */
};
/* The caller frees it with heatmaps_free. Weights are cos^2 of a number of their place, and rows have the
 * sum 1; each side and run has others. All but the last text are shown. */
struct heatmaps made_heatmaps(const struct made_heatmaps *wanted);

#endif
