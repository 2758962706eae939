/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a list.
 */
#ifndef ROTARY_STUDY_RUN_TRAINING_H
#define ROTARY_STUDY_RUN_TRAINING_H

#include "study/jobs.h"
#include "study/run_list.h"

#include <pthread.h>

/* The runs that are trained side by side. */
struct run_training {
    const struct run_list_call *call;
    const struct backend *backends; /* [jobs] */
    int jobs;
    pthread_mutex_t lock; /* of calls of progress, and of: */
    int done;
};

/* Trains run item->index of the list. argument: a struct run_training. */
ROTARY_CHECKED rotary_status run_training_item(void *argument, const struct jobs_item *item,
                                               rotary_error *error);

#endif
