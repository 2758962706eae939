/* SPDX-License-Identifier: Apache-2.0 */
#include "score/measure.h"

#include <stddef.h>

const char *const measure_names[] = {
    "validation_loss", "validation_loss_area", "exact_match", "steps_to_90", "auto", NULL};

const struct measure_description measure_descriptions[MEASURES] = {
    [MEASURE_VALIDATION_LOSS] = {"validation loss, nats per token", "nats per token of validation loss", 4,
                                 LOWER_IS_BETTER, false},
    [MEASURE_VALIDATION_LOSS_AREA] = {"validation loss, mean over training, nats per token",
                                      "nats per token of validation loss, mean over training", 4,
                                      LOWER_IS_BETTER, false},
    /* Exact match comes in steps of about a percent. */
    [MEASURE_EXACT_MATCH] = {"exact match, % of problems", "points of exact match", 1, HIGHER_IS_BETTER,
                             true},
    [MEASURE_STEPS_TO_90] = {"steps to 90% exact match", "steps to 90% exact match", 0, LOWER_IS_BETTER,
                             true},
};

int measures_reported(enum measure primary, bool has_problems, enum measure measures[MEASURES])
{
    static const enum measure with_problems[] = {MEASURE_EXACT_MATCH, MEASURE_STEPS_TO_90,
                                                 MEASURE_VALIDATION_LOSS, MEASURES},
                              without[] = {MEASURE_VALIDATION_LOSS, MEASURE_VALIDATION_LOSS_AREA, MEASURES};
    int count = 0;
    measures[count++] = primary;
    for (const enum measure *next = has_problems ? with_problems : without; *next != MEASURES; next++)
        if (*next != primary)
            measures[count++] = *next;
    return count;
}
