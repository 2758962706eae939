/* SPDX-License-Identifier: Apache-2.0
 *
 * What a finished run is judged by. Every measure is one number per run.
 */
#ifndef ROTARY_SCORE_MEASURE_H
#define ROTARY_SCORE_MEASURE_H

#include <stdbool.h>

/* How the answers of a task's problems are scored. */
enum scoring {
    SCORING_LOSS, /* not at all: there is the loss alone */
    SCORING_EXACT_MATCH,
    SCORING_BLEU, /* of all answers together (score/bleu.h) */
};

enum measure {
    MEASURE_VALIDATION_LOSS,      /* of the last evaluation, in nats per token */
    MEASURE_VALIDATION_LOSS_AREA, /* the mean of the validation loss over training: the area under its curve
                                     between the first evaluation and the last, divided by their distance */
    MEASURE_EXACT_MATCH,          /* of the last evaluation, in percent of the problems */
    MEASURE_STEPS_TO_90, /* the step of the first evaluation with 90% exact match, or the last step of a run
                            that never got there (a restricted time) */
    MEASURE_BLEU,        /* of the last evaluation, 0 ... 100: of the test set where it was translated */
    MEASURES,
    MEASURE_AUTO = MEASURES /* what suits the task's scoring: exact match, BLEU or the validation loss */
};

/* Names of the measures as in JSON and in settings, then "auto"; NULL-terminated. */
extern const char *const measure_names[];

enum direction { HIGHER_IS_BETTER, LOWER_IS_BETTER };

struct measure_description {
    const char *title;     /* "validation loss, nats per token" */
    const char *unit;      /* of a difference: "nats per token of validation loss" */
    int decimals;          /* that are worth printing */
    enum direction better; /* which side is better */
    enum scoring scoring;  /* the measure is of tasks with this scoring; SCORING_LOSS: of all */
};
extern const struct measure_description measure_descriptions[MEASURES];

/* Whether tasks with this scoring have the measure. */
bool measure_fits(enum measure measure, enum scoring scoring);
/* The measure that decides unless another is chosen. */
enum measure measure_usual(enum scoring scoring);
/* The measures that are reported for a task, the primary one first. Returns their number. Tasks scored by
 * exact match have that, steps to 90% and the validation loss; by BLEU, that and the validation loss; others
 * the validation loss and its area. */
int measures_reported(enum measure primary, enum scoring scoring, enum measure measures[MEASURES]);

#endif
