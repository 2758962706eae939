/* SPDX-License-Identifier: Apache-2.0 */
#include "score/measure.h"

#include <math.h>
#include <stddef.h>

const char *const measure_names[] = {"validation_loss",
                                     "validation_loss_area",
                                     "bits_per_byte",
                                     "exact_match",
                                     "steps_to_90",
                                     "bleu",
                                     "accuracy",
                                     "f1",
                                     "macro_f1",
                                     "matthews",
                                     "pearson",
                                     "spearman",
                                     "auto",
                                     NULL};

const struct measure_description measure_descriptions[MEASURES] = {
    [MEASURE_VALIDATION_LOSS] = {"validation loss, nats per token", "nats per token of validation loss", 4,
                                 LOWER_IS_BETTER, SCORING_LOSS, 0, 0},
    [MEASURE_VALIDATION_LOSS_AREA] = {"validation loss, mean over training, nats per token",
                                      "nats per token of validation loss, mean over training", 4,
                                      LOWER_IS_BETTER, SCORING_LOSS, 0, 0},
    [MEASURE_BITS_PER_BYTE] = {"bits per byte of the text", "bits per byte", 4, LOWER_IS_BETTER, SCORING_LOSS,
                               0, 0},
    /* Exact match comes in steps of about a percent. */
    [MEASURE_EXACT_MATCH] = {"exact match, % of problems", "points of exact match", 1, HIGHER_IS_BETTER,
                             SCORING_EXACT_MATCH, 0, 100},
    [MEASURE_STEPS_TO_90] = {"steps to 90% exact match", "steps to 90% exact match", 0, LOWER_IS_BETTER,
                             SCORING_EXACT_MATCH, 0, 0},
    [MEASURE_BLEU] = {"BLEU", "BLEU", 1, HIGHER_IS_BETTER, SCORING_BLEU, 0, 100},
    /* A validation set of a thousand examples has steps of a tenth of a point. */
    [MEASURE_ACCURACY] = {"accuracy, %", "points of accuracy", 1, HIGHER_IS_BETTER, SCORING_CLASSES, 0, 100},
    [MEASURE_F1] = {"F1, %", "points of F1", 1, HIGHER_IS_BETTER, SCORING_CLASSES, 0, 100},
    [MEASURE_MACRO_F1] = {"macro F1, %", "points of macro F1", 1, HIGHER_IS_BETTER, SCORING_CLASSES, 0, 100},
    [MEASURE_MATTHEWS] = {"Matthews correlation, in hundredths", "hundredths of Matthews correlation", 1,
                          HIGHER_IS_BETTER, SCORING_CLASSES, -100, 100},
    [MEASURE_PEARSON] = {"Pearson correlation, in hundredths", "hundredths of Pearson correlation", 1,
                         HIGHER_IS_BETTER, SCORING_NUMBERS, -100, 100},
    [MEASURE_SPEARMAN] = {"Spearman correlation, in hundredths", "hundredths of Spearman correlation", 1,
                          HIGHER_IS_BETTER, SCORING_NUMBERS, -100, 100},
};

bool measure_is_bounded(enum measure measure)
{
    return measure_descriptions[measure].low < measure_descriptions[measure].high;
}

double measure_largest_difference(enum measure measure)
{
    const struct measure_description *description = &measure_descriptions[measure];
    return measure_is_bounded(measure) ? description->high - description->low : HUGE_VAL;
}

bool measure_fits(enum measure measure, enum scoring scoring)
{
    const enum scoring wanted = measure_descriptions[measure].scoring;
    return wanted == SCORING_LOSS || wanted == scoring;
}

bool measure_is_per_token(enum measure measure)
{
    return measure == MEASURE_VALIDATION_LOSS || measure == MEASURE_VALIDATION_LOSS_AREA;
}

static const enum measure by_loss[] = {MEASURE_VALIDATION_LOSS, MEASURE_VALIDATION_LOSS_AREA, MEASURES},
                          by_exact_match[] = {MEASURE_EXACT_MATCH, MEASURE_STEPS_TO_90,
                                              MEASURE_VALIDATION_LOSS, MEASURES},
                          by_bleu[] = {MEASURE_BLEU, MEASURE_VALIDATION_LOSS, MEASURES},
                          by_class[] = {MEASURE_ACCURACY, MEASURE_VALIDATION_LOSS, MEASURES},
                          by_number[] = {MEASURE_SPEARMAN, MEASURE_PEARSON, MEASURE_VALIDATION_LOSS,
                                         MEASURES};

static const enum measure *const of_scoring[] = {[SCORING_LOSS] = by_loss,
                                                 [SCORING_EXACT_MATCH] = by_exact_match,
                                                 [SCORING_BLEU] = by_bleu,
                                                 [SCORING_CLASSES] = by_class,
                                                 [SCORING_NUMBERS] = by_number};

enum measure measure_usual(enum scoring scoring)
{
    return of_scoring[scoring][0];
}

enum measure measure_of_label(enum label_score score)
{
    return (enum measure)(MEASURE_ACCURACY + (int)score);
}

enum label_score measure_label(enum measure measure)
{
    return measure >= MEASURE_ACCURACY && measure < MEASURES
               ? (enum label_score)((int)measure - MEASURE_ACCURACY)
               : LABEL_SCORES;
}

int measures_reported(enum measure primary, enum scoring scoring, enum measure measures[MEASURES])
{
    int count = 0;
    measures[count++] = primary;
    for (const enum measure *next = of_scoring[scoring]; *next != MEASURES; next++)
        if (*next != primary)
            measures[count++] = *next;
    return count;
}
