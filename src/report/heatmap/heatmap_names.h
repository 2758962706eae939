/* SPDX-License-Identifier: Apache-2.0
 *
 * How pages, tables and files of heatmaps name layers and kinds of attention.
 */
#ifndef ROTARY_REPORT_HEATMAP_HEATMAP_NAMES_H
#define ROTARY_REPORT_HEATMAP_HEATMAP_NAMES_H

#include "records/heatmaps.h"

/* "deeper half (3 to 4)", "deeper half (2)": of `layers`, counted from 1. Returns `text`. */
enum { HEATMAP_LAYERS_BYTES = 64 };
const char *heatmap_deeper_half(char text[HEATMAP_LAYERS_BYTES], int64_t layers);
/* "decoder self-attention": a kind's name for people. */
const char *heatmap_kind_title(enum attention_kind kind, bool has_encoder);
bool heatmap_has_encoder(const struct heatmaps *maps);

#endif
