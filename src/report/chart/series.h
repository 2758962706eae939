/* SPDX-License-Identifier: Apache-2.0
 *
 * Curves over steps, made from records: one per run, and one per arm, the mean of its finished runs.
 */
#ifndef ROTARY_REPORT_CHART_SERIES_H
#define ROTARY_REPORT_CHART_SERIES_H

#include "records/collection.h"

enum series_kind {
    SERIES_TRAINING_LOSS,
    SERIES_VALIDATION_LOSS,
    SERIES_EXACT_MATCH,
    SERIES_BLEU,
    SERIES_LABELS
};

struct series_point {
    double step, value; /* value may be NaN */
};

struct series_curve {
    struct series_point *points;
    int count;
    int arm;                 /* of the comparison */
    bool mean;               /* of several runs; else one run, with `seed` */
    bool finished, diverged; /* at most one of them */
    int64_t seed;
};

struct series {
    struct series_curve *curves; /* runs first, means after them */
    int count;
};

/* Training losses are averaged over this many equal bins of the steps. */
enum { SERIES_POINTS = 240 };

ROTARY_CHECKED rotary_status series_create(struct series *series, const struct collection *collection,
                                           enum series_kind kind, rotary_error *error);
/* The value of a curve at exactly this step; NaN if it has none. */
double series_value(const struct series_curve *curve, double step);
void series_free(struct series *series);

#endif
