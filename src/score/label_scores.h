/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of predicted labels: classes (score/class_scores.h) or numbers (score/correlation.h), and which
 * of them decides.
 */
#ifndef ROTARY_SCORE_LABEL_SCORES_H
#define ROTARY_SCORE_LABEL_SCORES_H

#include <rotary/status.h>

enum label_score {
    LABEL_ACCURACY,
    LABEL_F1, /* of class 1, of two classes */
    LABEL_MACRO_F1,
    LABEL_MATTHEWS,
    LABEL_PEARSON, /* of numbers, as the next one */
    LABEL_SPEARMAN,
    LABEL_SCORES
};
extern const char *const label_score_names[]; /* NULL-terminated, in the order of label_score, then "auto" */
/* Names them as people do: "accuracy", "F1", "macro F1", "Matthews correlation", ... */
extern const char *const label_score_titles[LABEL_SCORES];

struct label_scores {
    int64_t examples;            /* 0: none were scored */
    enum label_score decides;    /* what one model is chosen over another by */
    double values[LABEL_SCORES]; /* NaN where the labels have no such score */
};

/* Whether labels of so many classes, 0: numbers, have a score. */
bool label_score_fits(enum label_score score, int classes);
/* The scores of `count` predictions. Errors are those of class_counts_fill and correlation_pearson. */
ROTARY_CHECKED rotary_status label_scores_of_classes(struct label_scores *scores, int classes,
                                                     const int32_t *labels, const int32_t *predictions,
                                                     int64_t count, rotary_error *error);
ROTARY_CHECKED rotary_status label_scores_of_numbers(struct label_scores *scores, const double *labels,
                                                     const double *predictions, int64_t count,
                                                     rotary_error *error);

#endif
