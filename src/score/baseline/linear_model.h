/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear models of sparse features: logistic regression of two or more classes, and ridge regression of
 * numbers, as scikit-learn defines them (LogisticRegression with C = 1 / penalty, Ridge with alpha =
 * penalty).
 */
#ifndef ROTARY_SCORE_BASELINE_LINEAR_MODEL_H
#define ROTARY_SCORE_BASELINE_LINEAR_MODEL_H

#include <rotary/status.h>

/* A sparse matrix, row by row. */
struct feature_rows {
    int64_t rows, columns;
    int64_t *starts; /* [rows + 1] in the next two, from 0 */
    int32_t *places; /* 0 ... columns - 1, each at most once in a row */
    double *values;
};

struct linear_targets {
    int classes;           /* at least 2; 0: numbers */
    const int32_t *labels; /* [rows], 0 ... classes - 1; NULL: numbers */
    const double *values;  /* [rows]; NULL: classes */
};

/* With scores z = W x + b of an example, its loss is
 *     two classes   log(1 + exp(-z)) if it is of class 1, else log(1 + exp(z))
 *     more classes  the cross-entropy of softmax(z)
 *     numbers       (z - y)²
 * and what is minimized is the sum of all losses + ½ penalty Σ W², for numbers + penalty Σ W². */
struct linear_model {
    int classes; /* as in the targets */
    int outputs; /* scores of an example: 1, or the number of classes if those are more than 2 */
    int64_t columns;
    double *weights; /* [outputs, columns + 1]: b is last */
    int iterations;  /* of the search for the minimum */
};

/* Fits a model. `tolerance`: the search ends once no derivative of the mean loss is larger. A label that is
 * no class, targets of one class only and numbers that are not finite are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status linear_fit(struct linear_model *model, const struct feature_rows *rows,
                                        const struct linear_targets *targets, double penalty,
                                        double tolerance, rotary_error *error);
/* The scores of one row: z [outputs]. */
void linear_scores(const struct linear_model *model, const struct feature_rows *rows, int64_t row, double *z);
/* The class with the highest score; of equal ones the first. */
int32_t linear_class(const struct linear_model *model, const double *z);
void linear_free(struct linear_model *model);      /* zeroed ones too */
void feature_rows_free(struct feature_rows *rows); /* zeroed ones too */

#endif
