/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a comparison, or of a few runs to compare, read from their folders.
 */
#ifndef ROTARY_RECORDS_COLLECTION_H
#define ROTARY_RECORDS_COLLECTION_H

#include "records/comparison/comparison.h"
#include "records/comparison/comparison_file.h"
#include "records/example_scores.h"
#include "records/sentence_scores.h"
#include "run_folder/run_archive.h"

struct collection {
    struct comparison_file file; /* of a comparison; zero for plain runs */
    json_t *description;         /* compare.json, which belongs to `file`; NULL for plain runs */
    struct record *records;      /* of a comparison: seed by seed; runs not begun are left out */
    int record_count, planned;   /* planned: runs, begun or not */
    char *varied, *unlike;       /* as in comparison_request */
    struct looks *looks;         /* in one block with its seeds; NULL for plain runs */
    struct comparison *comparison;
    struct sentence_scores *sentences;  /* NULL: not read, or not scored by BLEU */
    struct example_scores *predictions; /* likewise by labels */
    struct run_archives archives;       /* that it is read from */
};

struct collection_options {
    const char *vary; /* the keys that plain runs are compared by, "norm,position"; NULL: position */
    bool all_pairs;   /* as in comparison_request */
};

/* Reads one folder that holds a comparison, or `count` folders of runs of one task; a folder that is neither
 * stands for those of runs that it holds, by name. Each may be in an archive. Runs that differ in more
 * than what is compared are not paired: comparison->unlike says what they differ in
 * (records/comparison/comparable_runs.h). */
ROTARY_CHECKED rotary_status collection_read_with(struct collection *collection, const char *const *folders,
                                                  int count, const struct collection_options *options,
                                                  rotary_error *error);
/* Reads without options. */
ROTARY_CHECKED rotary_status collection_read(struct collection *collection, const char *const *folders,
                                             int count, rotary_error *error);
/* Reads the translations of runs that are scored by BLEU, or the predictions of those that are scored by
 * labels, for what is shown of them; once. */
ROTARY_CHECKED rotary_status collection_read_answers(struct collection *collection, rotary_error *error);
void collection_free(struct collection *collection);

/* Whether a page may be written to `path`: ROTARY_INVALID_ARGUMENT if that would replace a file of the
 * `count` folders that the collection was read from, or of any run. */
ROTARY_CHECKED rotary_status collection_check_output(const struct collection *collection,
                                                     const char *const *folders, int count, const char *path,
                                                     rotary_error *error);

#endif
