/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring how a model's scores fall with distance, over the validation sequences of its task.
 */
#ifndef ROTARY_STUDY_DECAY_RUN_H
#define ROTARY_STUDY_DECAY_RUN_H

#include "model/transformer.h"
#include "records/measured_decay.h"
#include "task/task.h"

struct decay_request {
    const struct task *task;
    uint64_t seed;     /* of the sequences; a finite corpus has the same for every seed */
    int64_t sequences; /* the first so many, at most those of a finite corpus */
    int64_t distance;  /* the largest between query and key; 0: any */
    /* Called before each sequence; NULL: nothing is. */
    void (*progress)(void *context, int64_t done, int64_t sequences);
    void *context;
};

/* Fills `kinds` and `sequences` of a decay that has zeros there: means over all queries, keys and sequences,
 * of which every token counts but padding. Their distances are those that pairs have. Memory grows with
 * layers, heads and the longest sequence. The caller frees the decay, also after an error.
 * ROTARY_INVALID_ARGUMENT also for a model that computes numbers that are not finite. */
ROTARY_CHECKED rotary_status decay_run(struct measured_decay *decay, struct transformer *transformer,
                                       const struct decay_request *request, rotary_error *error);

#endif
