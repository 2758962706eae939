/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run was trained by, in its config.json: the program and the machine. Both change the last bits of
 * what is computed, and from there on the course of a run.
 *
 *     "provenance": [{"step": 0, "version": "0.1.0", "commit": "0f3a...", "isa": "avx512", "threads": 2,
 *                     "processor": "AMD EPYC 9R14", "date": "2026-01-31"}, ...]
 *
 * One object for each that trained it, from the step on at which it began; a run that was not resumed
 * elsewhere has one. The commit is "unknown" where the program was built outside a repository.
 */
#ifndef ROTARY_TRAIN_FOLDER_PROVENANCE_H
#define ROTARY_TRAIN_FOLDER_PROVENANCE_H

#include "backend/backend.h"

#include <jansson.h>

struct provenance_call {
    const struct backend *backend;
    const char *commit; /* of the program; NULL: it is not known */
    int64_t step;       /* that the run has, before this program goes on */
    const char *folder; /* of the run that goes on; NULL: it begins */
};

/* *list: the folder's, and what is calling now if that is another than the last; the caller releases it.
 * *grown: whether the folder does not have it as it is. */
ROTARY_CHECKED rotary_status provenance_extend(json_t **list, bool *grown, const struct provenance_call *call,
                                               rotary_error *error);

#endif
