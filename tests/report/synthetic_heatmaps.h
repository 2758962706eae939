/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up heads of two encoder–decoders, or of one decoder, for tests of pages.
 */
#ifndef SYNTHETIC_HEATMAPS_H
#define SYNTHETIC_HEATMAPS_H

#include "records/heatmaps.h"

enum { MADE_LAYERS = 2, MADE_HEADS = 3, MADE_TEXTS = 3, SAMPLE_RUNS = 3 };

struct synthetic_heatmaps {
    bool encoder;    /* sources of 5 tokens more than targets */
    bool hostile;    /* labels and names full of markup */
    int sides, runs; /* runs of a side, at most SAMPLE_RUNS */
    int64_t tokens;  /* of the first target; the others have one more each */
};
/* The caller frees it with heatmaps_free. Weights are cos^2 of a number of their place, and rows have the
 * sum 1; each side and run has others. All but the last text are shown. */
struct heatmaps synthetic_heatmaps(const struct synthetic_heatmaps *wanted);

#endif
