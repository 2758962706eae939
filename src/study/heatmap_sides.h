/* SPDX-License-Identifier: Apache-2.0
 *
 * The runs whose heads are looked at, from their folders.
 */
#ifndef ROTARY_STUDY_HEATMAP_SIDES_H
#define ROTARY_STUDY_HEATMAP_SIDES_H

#include "study/heatmaps.h"

/* One run's folder: one side. Two: two sides of one run each. A comparison's folder: two arms, with the runs
 * of the seeds that both have finished. `arms` names them, "sinusoidal,rope"; NULL: the baseline, and the
 * only other arm. Sets names, folders and seeds; the caller frees *maps with heatmaps_free. */
ROTARY_CHECKED rotary_status heatmap_sides_read(struct heatmaps *maps, const char *const *folders, int count,
                                                const char *arms, rotary_error *error);

#endif
