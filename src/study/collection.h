/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a comparison, or of a few runs to compare, read from their folders.
 */
#ifndef ROTARY_STUDY_COLLECTION_H
#define ROTARY_STUDY_COLLECTION_H

#include "study/comparison.h"

enum { COMPARE_FORMAT = 2 }; /* "format" in compare.json; other numbers are refused */

struct collection {
    json_t *description;       /* compare.json; NULL for plain runs */
    struct record *records;    /* of a comparison: seed by seed; runs not begun are left out */
    int record_count, planned; /* planned: runs, begun or not */
    struct comparison *comparison;
};

/* Reads one folder that holds a comparison, or `count` folders of runs of one task. */
ROTARY_CHECKED rotary_status collection_read(struct collection *collection, const char *const *folders,
                                             int count, rotary_error *error);
void collection_free(struct collection *collection);

/* Whether a page may be written to `path`: ROTARY_INVALID_ARGUMENT if that would replace a file of the
 * `count` folders that the collection was read from, or of its runs. */
ROTARY_CHECKED rotary_status collection_check_output(const struct collection *collection,
                                                     const char *const *folders, int count, const char *path,
                                                     rotary_error *error);

/* Whether the folder holds a compare.json. */
bool collection_is_comparison(const char *folder);

#endif
