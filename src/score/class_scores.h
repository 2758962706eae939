/* SPDX-License-Identifier: Apache-2.0
 *
 * How well predicted classes agree with labels: accuracy, F1 and Matthews' correlation, as scikit-learn
 * defines them (accuracy_score, f1_score, matthews_corrcoef). Where it warns that a score has no value and
 * gives 0, these give 0.
 */
#ifndef ROTARY_SCORE_CLASS_SCORES_H
#define ROTARY_SCORE_CLASS_SCORES_H

#include <rotary/status.h>

enum { CLASSES_MAX = 1024 };

/* How often examples of one class were predicted as another. */
struct class_counts {
    int classes;    /* 1 ... CLASSES_MAX */
    int64_t *pairs; /* [classes, classes], the caller's: row is the label, column the prediction */
};

/* Counts `count` examples, at least 1. A label or a prediction that is none of the classes is
 * ROTARY_INVALID_ARGUMENT; the message has its place, counted from 1. */
ROTARY_CHECKED rotary_status class_counts_fill(const struct class_counts *counts, const int32_t *labels,
                                               const int32_t *predictions, int64_t count,
                                               rotary_error *error);

/* The share of examples whose prediction is their label. */
double class_accuracy(const struct class_counts *counts);
/* The harmonic mean of precision and recall of one class: 2 tp / (2 tp + fp + fn). 0 if no example has it as
 * label or as prediction. */
double class_f1(const struct class_counts *counts, int class);
/* The mean of class_f1 over the classes that are the label or the prediction of an example. */
double class_macro_f1(const struct class_counts *counts);
/* Matthews' correlation of any number of classes (Gorodkin, "Comparing two K-category assignments by a
 * K-category correlation coefficient", Computational Biology and Chemistry 28, 2004), -1 ... 1. 0 if all
 * labels are one class, or all predictions are. */
double class_matthews(const struct class_counts *counts);

#endif
