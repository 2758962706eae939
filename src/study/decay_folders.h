/* SPDX-License-Identifier: Apache-2.0
 *
 * The runs whose scores by distance are measured, from folders of runs and of comparisons.
 */
#ifndef ROTARY_STUDY_DECAY_FOLDERS_H
#define ROTARY_STUDY_DECAY_FOLDERS_H

#include <rotary/status.h>

struct decay_folders {
    char **items; /* [count] */
    int count;
};

/* A comparison stands for the first run of each of its arms, by seed, and must have one. The caller frees
 * *found, also after an error. */
ROTARY_CHECKED rotary_status decay_folders_find(struct decay_folders *found, const char *const *folders,
                                                int count, rotary_error *error);
void decay_folders_free(struct decay_folders *folders);

#endif
