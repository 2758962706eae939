/* SPDX-License-Identifier: Apache-2.0 */
#include "score/measure.h"

#include <stddef.h>

const char *const measure_names[] = {
    "validation_loss", "validation_loss_area", "exact_match", "steps_to_90", "bleu", "auto", NULL};

const struct measure_description measure_descriptions[MEASURES] = {
    [MEASURE_VALIDATION_LOSS] = {"validation loss, nats per token", "nats per token of validation loss", 4,
                                 LOWER_IS_BETTER, SCORING_LOSS},
    [MEASURE_VALIDATION_LOSS_AREA] = {"validation loss, mean over training, nats per token",
                                      "nats per token of validation loss, mean over training", 4,
                                      LOWER_IS_BETTER, SCORING_LOSS},
    /* Exact match comes in steps of about a percent. */
    [MEASURE_EXACT_MATCH] = {"exact match, % of problems", "points of exact match", 1, HIGHER_IS_BETTER,
                             SCORING_EXACT_MATCH},
    [MEASURE_STEPS_TO_90] = {"steps to 90% exact match", "steps to 90% exact match", 0, LOWER_IS_BETTER,
                             SCORING_EXACT_MATCH},
    [MEASURE_BLEU] = {"BLEU", "BLEU", 1, HIGHER_IS_BETTER, SCORING_BLEU},
};

bool measure_fits(enum measure measure, enum scoring scoring)
{
    const enum scoring wanted = measure_descriptions[measure].scoring;
    return wanted == SCORING_LOSS || wanted == scoring;
}

static const enum measure by_loss[] = {MEASURE_VALIDATION_LOSS, MEASURE_VALIDATION_LOSS_AREA, MEASURES},
                          by_exact_match[] = {MEASURE_EXACT_MATCH, MEASURE_STEPS_TO_90,
                                              MEASURE_VALIDATION_LOSS, MEASURES},
                          by_bleu[] = {MEASURE_BLEU, MEASURE_VALIDATION_LOSS, MEASURES};

static const enum measure *const of_scoring[] = {
    [SCORING_LOSS] = by_loss, [SCORING_EXACT_MATCH] = by_exact_match, [SCORING_BLEU] = by_bleu};

enum measure measure_usual(enum scoring scoring)
{
    return of_scoring[scoring][0];
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
