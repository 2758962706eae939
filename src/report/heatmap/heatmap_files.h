/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of `rotary heatmap`: the page, and of each text that is shown a picture of every layer and an
 * array of every kind of attention.
 *
 *     heatmap.html
 *     heatmap.json                     the numbers, and as "files" the names of the other files
 *     rope-text1-decoder-layer1.svg
 *     rope-text1-decoder.npy           f32 [layers, heads, queries, keys]
 */
#ifndef ROTARY_REPORT_HEATMAP_HEATMAP_FILES_H
#define ROTARY_REPORT_HEATMAP_HEATMAP_FILES_H

#include "records/heatmaps.h"

#include <jansson.h>

struct heatmap_files {
    const char *folder; /* which is there */
    /* Whether a file may be replaced: called for each before any is written. */
    rotary_status (*check)(void *context, const char *path, rotary_error *error);
    void *context;
};
/* Writes all files, each atomically, and appends their paths to the array `written`, the page first. Removes
 * before the files of an earlier call that it does not write, and PNG files of earlier pictures. */
ROTARY_CHECKED rotary_status heatmap_files_write(const struct heatmaps *maps,
                                                 const struct heatmap_files *files, json_t *written,
                                                 rotary_error *error);

#endif
