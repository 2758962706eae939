/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring how a model's scores fall with distance, over the validation sequences of its task.
 */
#ifndef ROTARY_STUDY_DECAY_RUN_H
#define ROTARY_STUDY_DECAY_RUN_H

#include "inference/loaded_model.h"
#include "records/measured_decay.h"

struct decay_request {
    const struct loaded_model *model; /* with a task that has validation sequences, one in a batch */
    const char *folder;               /* of its run, which gets decay.json */
    enum checkpoint_kind checkpoint;  /* which it was loaded from */
    int64_t seed;                     /* of the sequences; a finite corpus has the same for every seed */
    int64_t sequences;                /* the first so many, at most those of a finite corpus */
    int64_t distance;                 /* the largest between query and key; 0: any */
    int64_t length;                   /* that the model was loaded for, with its scaling; 0: as in training */
    enum length_scaling scaling;
    /* Called before each sequence; NULL: nothing is. */
    void (*progress)(void *context, int64_t done, int64_t sequences);
    void *context;
};

/* Fills a decay that is all zero: means over all queries, keys and sequences. Their distances are those that
 * pairs have. Memory grows with layers, heads and the longest sequence. The caller frees the decay, also after
 * an error. ROTARY_INVALID_ARGUMENT also for a model that computes numbers that are not finite. */
ROTARY_CHECKED rotary_status decay_run(struct measured_decay *decay, const struct decay_request *request,
                                       rotary_error *error);

#endif
