/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model of labels is compared with (score/baseline/baseline.h), on labelled texts.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_LABEL_BASELINES_H
#define ROTARY_TASK_CLASSIFICATION_LABEL_BASELINES_H

#include "score/label_scores.h"
#include "task/task.h"

enum label_baseline {
    BASELINE_MAJORITY, /* the most frequent class of training, or its mean number */
    BASELINE_WORDS, /* a linear model of the words of the training texts; of choices the one that is the most
                       similar to the text (score/baseline/tfidf.h) */
    LABEL_BASELINES
};
/* These are the names in JSON, and for people: "majority", "bag of words" or, of texts with choices,
 * "TF-IDF". */
const char *label_baseline_name(int baseline, bool choices);
const char *label_baseline_title(int baseline, bool choices);

struct label_baselines {
    struct label_scores scores[LABEL_BASELINES];
    /* What they predict for each example of the split: classes, of a regression values; what is not is NULL.
     */
    int32_t *classes[LABEL_BASELINES];
    double *values[LABEL_BASELINES];
};

/* Scores all that there are on a split that has examples. The caller frees them. */
struct labelled_corpus;
struct label_baselines_call {
    const struct labelled_corpus *corpus;
    enum label_score decides;
    enum task_split split;
};
ROTARY_CHECKED rotary_status label_baselines_run(struct label_baselines *baselines,
                                                 const struct label_baselines_call *call,
                                                 rotary_error *error);
void label_baselines_free(struct label_baselines *baselines); /* zeroed ones too */

#endif
