/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs made of given numbers, in memory. Their last evaluation is not their best, and their curves are all
 * different, so that a test sees which number was taken.
 */
#ifndef TESTS_STUDY_SAMPLE_RUNS_H
#define TESTS_STUDY_SAMPLE_RUNS_H

#include "records/collection.h"

enum { MADE_STEPS = 600, MADE_EVALUATIONS = 6, MADE_POINTS = 30, MADE_SAMPLES = 2 };

struct sample_run {
    const char *arm;
    int64_t seed;
    double loss;               /* at the last evaluation */
    int64_t correct, problems; /* at the last evaluation; problems 0: the task has none */
    int64_t done;              /* 0: finished; else the last step of an unfinished run */
    int64_t diverged;          /* 0: it did not */
    double bleu;               /* of the test set, at the last evaluation; 0: nothing was translated */
};

/* Three arms in which every number is another. RoPER loses in exact match and gains in loss; the arms have
 * unequal numbers of runs. One run of RoPER is unfinished, one of the third arm diverged. Seeds are not in
 * order. */
enum { MADE_EXAMPLE = 21, MADE_EXAMPLE_PAIRS = 6 };
extern const struct sample_run sample_example[MADE_EXAMPLE];
/* The parameters of an arm's models, which differ. */
int64_t sample_parameters(const char *arm);
/* The same without problems. */
void sample_example_without_problems(struct sample_run runs[MADE_EXAMPLE]);

/* The same, scored by BLEU, which is higher where the loss is lower. */
void sample_example_translated(struct sample_run runs[MADE_EXAMPLE]);

/* Makes records of the runs, in their order, and compares them; the request's records are set. The measure is
 * the primary one declared; NULL: none is declared. The caller frees the collection. */
void sample_collection(struct collection *collection, const struct sample_run *runs, int count,
                       const char *primary_measure, struct comparison_request request);

#endif
