/* SPDX-License-Identifier: Apache-2.0 */
#include "score/label_scores.h"

#include "base/fail.h"
#include "score/class_scores.h"
#include "score/correlation.h"

#include <math.h>
#include <stdlib.h>

const char *const label_score_names[] = {"accuracy", "f1",       "macro_f1", "matthews",
                                         "pearson",  "spearman", "auto",     NULL};
const char *const label_score_titles[LABEL_SCORES] = {
    "accuracy", "F1", "macro F1", "Matthews correlation", "Pearson correlation", "Spearman correlation"};

bool label_score_fits(enum label_score score, int classes)
{
    const bool of_numbers = score == LABEL_PEARSON || score == LABEL_SPEARMAN;
    return of_numbers == (classes == 0) && (score != LABEL_F1 || classes == 2);
}

static void clear(struct label_scores *scores, int64_t count)
{
    scores->examples = count;
    for (int i = 0; i < LABEL_SCORES; i++)
        scores->values[i] = (double)NAN;
}

rotary_status label_scores_of_classes(struct label_scores *scores, int classes, const int32_t *labels,
                                      const int32_t *predictions, int64_t count, rotary_error *error)
{
    const struct class_counts counts = {classes,
                                        malloc((size_t)classes * (size_t)classes * sizeof *counts.pairs)};
    if (!counts.pairs)
        return rotary_fail_memory(error, "to count %d classes", classes);
    rotary_status status = class_counts_fill(&counts, labels, predictions, count, error);
    if (status == ROTARY_OK) {
        clear(scores, count);
        scores->values[LABEL_ACCURACY] = class_accuracy(&counts);
        if (classes == 2)
            scores->values[LABEL_F1] = class_f1(&counts, 1);
        scores->values[LABEL_MACRO_F1] = class_macro_f1(&counts);
        scores->values[LABEL_MATTHEWS] = class_matthews(&counts);
    }
    free(counts.pairs);
    return status;
}

rotary_status label_scores_of_numbers(struct label_scores *scores, const double *labels,
                                      const double *predictions, int64_t count, rotary_error *error)
{
    const struct number_pairs pairs = {count, labels, predictions};
    double pearson, spearman;
    rotary_status status = correlation_pearson(&pairs, &pearson, error);
    if (status == ROTARY_OK)
        status = correlation_spearman(&pairs, &spearman, error);
    if (status != ROTARY_OK)
        return status;
    clear(scores, count);
    scores->values[LABEL_PEARSON] = pearson;
    scores->values[LABEL_SPEARMAN] = spearman;
    return ROTARY_OK;
}
