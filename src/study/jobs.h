/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: threads that work on a list of items side by side, each item on one of them.
 */
#ifndef ROTARY_STUDY_JOBS_H
#define ROTARY_STUDY_JOBS_H

#include "backend/backend.h"

#include <stdatomic.h>

/* One item of the list. */
struct jobs_item {
    int index;               /* 0 ... count - 1 */
    int job;                 /* 0 ... jobs - 1: of the items that are worked on at once, each has another */
    const atomic_bool *stop; /* once true, the item is to be saved and to return ROTARY_INTERRUPTED */
};

struct jobs_call {
    int jobs;  /* at least 1; with 1, all runs on the calling thread */
    int count; /* items */
    rotary_status (*run)(void *argument, const struct jobs_item *item, rotary_error *error);
    void *argument;
    const atomic_bool *interrupted; /* once true, all items are stopped. May be NULL */
};

/* Begins the items in their order, and returns when all are done. After an item that fails no other is begun,
 * and those that have begun are stopped: the status and the error are those of the first failure. Else, if
 * not all items were done because of `interrupted`, ROTARY_INTERRUPTED. */
ROTARY_CHECKED rotary_status jobs_run(const struct jobs_call *call, rotary_error *error);

/* The threads of job `job` when `jobs` share `threads` of them, as evenly as it goes; at least 1. */
int jobs_threads(int threads, int jobs, int job);

/* A backend for each job, of the kind of `all`, whose threads they share. The caller destroys them; NULL is
 * allowed. */
ROTARY_CHECKED rotary_status jobs_backends_create(struct backend **backends, const struct backend *all,
                                                  int jobs, rotary_error *error);
void jobs_backends_destroy(struct backend *backends, int jobs);

#endif
