/* SPDX-License-Identifier: Apache-2.0
 *
 * What a finished run is judged by. Every measure is one number per run.
 */
#ifndef ROTARY_SCORE_MEASURE_H
#define ROTARY_SCORE_MEASURE_H

#include <stdbool.h>

enum measure {
    MEASURE_VALIDATION_LOSS,      /* of the last evaluation, in nats per token */
    MEASURE_VALIDATION_LOSS_AREA, /* the mean of the validation loss over training: the area under its curve
                                     between the first evaluation and the last, divided by their distance */
    MEASURE_EXACT_MATCH,          /* of the last evaluation, in percent of the problems */
    MEASURE_STEPS_TO_90, /* the step of the first evaluation with 90% exact match, or the last step of a run
                            that never got there (a restricted time) */
    MEASURES,
    MEASURE_AUTO = MEASURES /* exact match for tasks with problems, else the validation loss */
};

/* Names of the measures as in JSON and in settings, then "auto"; NULL-terminated. */
extern const char *const measure_names[];

enum direction { HIGHER_IS_BETTER, LOWER_IS_BETTER };

struct measure_description {
    const char *title;     /* "validation loss, nats per token" */
    const char *unit;      /* of a difference: "nats per token of validation loss" */
    int decimals;          /* that are worth printing */
    enum direction better; /* which side is better */
    bool of_problems;      /* only for tasks with problems */
};
extern const struct measure_description measure_descriptions[MEASURES];

/* The measures that are reported for a task, the primary one first. Returns their number. Tasks with problems
 * have exact match, steps to 90% and the validation loss; others the validation loss and its area. */
int measures_reported(enum measure primary, bool has_problems, enum measure measures[MEASURES]);

#endif
