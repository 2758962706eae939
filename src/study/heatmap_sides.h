/* SPDX-License-Identifier: Apache-2.0
 *
 * The runs whose heads are looked at, from their folders.
 */
#ifndef ROTARY_STUDY_HEATMAP_SIDES_H
#define ROTARY_STUDY_HEATMAP_SIDES_H

#include "records/heatmaps.h"

/* One run's folder: one side. Two: two sides of one run each, named by their arms, or where these are one by
 * their arms and folders. A comparison's folder: its arms, with the runs of the seeds that all of them have
 * finished. `arms` names some, the baseline first: "sinusoidal,rope"; NULL: all, at most HEATMAP_SIDES. Sets
 * names, folders and seeds; the caller frees *maps with heatmaps_free. */
ROTARY_CHECKED rotary_status heatmap_sides_read(struct heatmaps *maps, const char *const *folders, int count,
                                                const char *arms, rotary_error *error);

#endif
