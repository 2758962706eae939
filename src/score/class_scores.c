/* SPDX-License-Identifier: Apache-2.0 */
#include "score/class_scores.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

static rotary_status check_class(const char *what, int32_t value, int classes, int64_t place,
                                 rotary_error *error)
{
    if (value >= 0 && value < classes)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the %s of example %lld is class %d, wanted 0 to %d",
                       what, (long long)place + 1, (int)value, classes - 1);
}

rotary_status class_counts_fill(const struct class_counts *counts, const int32_t *labels,
                                const int32_t *predictions, int64_t count, rotary_error *error)
{
    const int classes = counts->classes;
    if (classes < 1 || classes > CLASSES_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there are %d classes, wanted 1 to %d", classes,
                           (int)CLASSES_MAX);
    if (count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "there is no example to score, wanted at least one");
    for (int64_t i = 0; i < count; i++) {
        rotary_status status = check_class("label", labels[i], classes, i, error);
        if (status == ROTARY_OK)
            status = check_class("prediction", predictions[i], classes, i, error);
        if (status != ROTARY_OK)
            return status;
    }
    memset(counts->pairs, 0, (size_t)classes * (size_t)classes * sizeof *counts->pairs);
    for (int64_t i = 0; i < count; i++)
        counts->pairs[(int64_t)labels[i] * classes + predictions[i]]++;
    return ROTARY_OK;
}

/* Counts for one class the examples with it as label, as prediction, as both. */
struct class_sums {
    int64_t labels, predictions, both;
};

static struct class_sums sums_of(const struct class_counts *counts, int class)
{
    struct class_sums sums = {.both = counts->pairs[class * counts->classes + class]};
    for (int other = 0; other < counts->classes; other++) {
        sums.labels += counts->pairs[class * counts->classes + other];
        sums.predictions += counts->pairs[other * counts->classes + class];
    }
    return sums;
}

double class_accuracy(const struct class_counts *counts)
{
    int64_t correct = 0, all = 0;
    for (int class = 0; class < counts->classes; class ++) {
        const struct class_sums sums = sums_of(counts, class);
        correct += sums.both;
        all += sums.labels;
    }
    return (double)correct / (double)all;
}

double class_f1(const struct class_counts *counts, int class)
{
    const struct class_sums sums = sums_of(counts, class);
    if (sums.labels + sums.predictions == 0)
        return 0;
    return 2.0 * (double)sums.both / (double)(sums.labels + sums.predictions);
}

double class_macro_f1(const struct class_counts *counts)
{
    double total = 0;
    int seen = 0;
    for (int class = 0; class < counts->classes; class ++) {
        const struct class_sums sums = sums_of(counts, class);
        if (sums.labels + sums.predictions == 0)
            continue;
        total += class_f1(counts, class);
        seen++;
    }
    return total / seen;
}

double class_matthews(const struct class_counts *counts)
{
    double all = 0, correct = 0, both = 0, labels = 0, predictions = 0;
    for (int class = 0; class < counts->classes; class ++) {
        const struct class_sums sums = sums_of(counts, class);
        const double of_labels = (double)sums.labels, of_predictions = (double)sums.predictions;
        all += of_labels;
        correct += (double)sums.both;
        both += of_labels * of_predictions;
        labels += of_labels * of_labels;
        predictions += of_predictions * of_predictions;
    }
    const double spread = (all * all - labels) * (all * all - predictions);
    return spread > 0 ? (correct * all - both) / sqrt(spread) : 0;
}
