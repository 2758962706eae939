/* SPDX-License-Identifier: Apache-2.0
 *
 * The heads of one layer as a picture: one map for each, with the tokens as labels.
 */
#ifndef ROTARY_REPORT_HEATMAP_HEATMAP_SVG_H
#define ROTARY_REPORT_HEATMAP_HEATMAP_SVG_H

#include "records/heatmaps.h"

#include <stdio.h>

/* A layer of an example whose weights are kept. */
struct heatmap_picture {
    const char *title;
    const struct heatmap_example *example;
    enum attention_kind kind;
    int64_t layer;
};
/* Writes a complete SVG document, for light and dark. Errors of writing are those of the stream (ferror). */
void heatmap_svg_write(FILE *stream, const struct heatmap_picture *picture);

#endif
