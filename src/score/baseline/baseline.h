/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model of texts is compared with: the answer that is best without a look at the text, and a linear
 * model of its words (score/baseline/word_features.h, score/baseline/linear_model.h).
 */
#ifndef ROTARY_SCORE_BASELINE_BASELINE_H
#define ROTARY_SCORE_BASELINE_BASELINE_H

#include "score/baseline/word_features.h"

/* What baselines learn from: texts, and what is wanted for each. */
struct baseline_training {
    struct word_texts texts;
    struct linear_targets targets;
};
/* What they predict: one of the two is filled. */
struct baseline_predictions {
    int32_t *classes; /* [count] of the texts; may be NULL for numbers */
    double *values;   /* [count]; may be NULL for classes */
};

/* The most frequent class, of equally frequent ones the first; of numbers the mean. For `count` texts. */
void baseline_majority(const struct baseline_training *training, int64_t count,
                       const struct baseline_predictions *predictions);

struct baseline_config {
    int64_t min_texts; /* of the training texts that a word is in */
    double penalty;    /* of the linear model */
};
void baseline_config_default(struct baseline_config *config); /* 2, and 1 */

/* Fits a linear model to the words of the training texts, and predicts `texts`: pairs if the training texts
 * are. Training texts of one class, or of none, are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status baseline_bag_of_words(const struct baseline_training *training,
                                                   const struct word_texts *texts,
                                                   const struct baseline_config *config,
                                                   const struct baseline_predictions *predictions,
                                                   rotary_error *error);

#endif
