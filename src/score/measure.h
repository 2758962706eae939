/* SPDX-License-Identifier: Apache-2.0
 *
 * What a finished run is judged by. Every measure is one number per run.
 */
#ifndef ROTARY_SCORE_MEASURE_H
#define ROTARY_SCORE_MEASURE_H

#include "score/label_scores.h"

#include <stdbool.h>

/* How the answers of a task's problems are scored. */
enum scoring {
    SCORING_LOSS, /* not at all: there is the loss alone */
    SCORING_EXACT_MATCH,
    SCORING_BLEU,    /* of all answers together (score/translation/bleu.h) */
    SCORING_CLASSES, /* labels that are classes (score/label_scores.h) */
    SCORING_NUMBERS, /* labels that are numbers */
};

enum measure {
    MEASURE_VALIDATION_LOSS,      /* of the last evaluation, in nats per token */
    MEASURE_VALIDATION_LOSS_AREA, /* the mean of the validation loss over training: the area under its curve
                                     between the first evaluation and the last, divided by their distance */
    MEASURE_BITS_PER_BYTE,        /* of the last evaluation: of text whose bytes are known. Unlike a loss per
                                     token it compares across vocabularies */
    MEASURE_EXACT_MATCH,          /* of the last evaluation, in percent of the problems */
    MEASURE_STEPS_TO_90, /* the step of the first evaluation with 90% exact match, or the last step of a run
                            that never got there (a restricted time) */
    MEASURE_BLEU,        /* of the last evaluation, 0 ... 100: of the test set where it was translated */
    /* These are of the last evaluation, in hundredths, in the order of enum label_score: of the test set
     * where there is one. */
    MEASURE_ACCURACY,
    MEASURE_F1,
    MEASURE_MACRO_F1,
    MEASURE_MATTHEWS,
    MEASURE_PEARSON,
    MEASURE_SPEARMAN,
    MEASURES,
    MEASURE_AUTO = MEASURES /* what suits the task's scoring: exact match, BLEU, what labels are decided by,
                               or the validation loss */
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
    double low, high;      /* the bounds of the measure; both 0: it has none but those of the run */
};
extern const struct measure_description measure_descriptions[MEASURES];
bool measure_is_bounded(enum measure measure);
double measure_largest_difference(enum measure measure); /* infinity where it has no bounds */

/* Whether tasks with this scoring have the measure. */
bool measure_fits(enum measure measure, enum scoring scoring);
/* Whether it is a loss per token, which only models of one vocabulary have in common. */
bool measure_is_per_token(enum measure measure);
/* The measure that decides unless another is chosen, or labels say which. */
enum measure measure_usual(enum scoring scoring);
/* The measure that is a score of labels, in hundredths of it; and back, LABEL_SCORES: it is none. */
enum measure measure_of_label(enum label_score score);
enum label_score measure_label(enum measure measure);
/* The measures that are reported for a task, the primary one first. Returns their number. Tasks scored by
 * exact match have that, steps to 90% and the validation loss; by BLEU, that and the validation loss; of
 * classes accuracy, of numbers both correlations, and the validation loss; others that and its area. */
int measures_reported(enum measure primary, enum scoring scoring, enum measure measures[MEASURES]);

#endif
