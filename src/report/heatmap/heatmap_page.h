/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of `rotary heatmap`: one HTML file that loads nothing else, in which one chooses text, kind of
 * attention, layer and head, and reads the weights; and the same numbers as JSON.
 */
#ifndef ROTARY_REPORT_HEATMAP_HEATMAP_PAGE_H
#define ROTARY_REPORT_HEATMAP_HEATMAP_PAGE_H

#include "records/heatmaps.h"

#include <jansson.h>
#include <stdio.h>

/* Weights of a page: it has two bytes of each in a text of a third more. */
enum { HEATMAP_PAGE_WEIGHTS = 1 << 24 };

/* Replaces `path` by the page. ROTARY_INVALID_ARGUMENT if it would have more weights. */
ROTARY_CHECKED rotary_status heatmap_page_write(const struct heatmaps *maps, const char *path,
                                                rotary_error *error);

/* Heads, layers and differences, without weights; the caller owns *object. What is undefined is null. */
ROTARY_CHECKED rotary_status heatmap_json(const struct heatmaps *maps, json_t **object, rotary_error *error);

/* ---- For the files of the page. ---- */

/* Tables of layers and heads. */
void heatmap_tables_write(FILE *stream, const struct heatmaps *maps);
/* What the script draws, as JSON without "<"; NULL without memory. The caller frees it. */
char *heatmap_data(const struct heatmaps *maps);
extern const char heatmap_style[], heatmap_script[]; /* heatmap.css, heatmap.js */

#endif
