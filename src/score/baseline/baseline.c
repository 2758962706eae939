/* SPDX-License-Identifier: Apache-2.0 */
#include "score/baseline/baseline.h"

#include "base/fail.h"
#include "score/class_scores.h"

#include <stdlib.h>

static const double TOLERANCE = 1e-6; /* of the derivatives of the mean loss */

void baseline_config_default(struct baseline_config *config)
{
    *config = (struct baseline_config){.min_texts = 2, .penalty = 1};
}

/* ---- without the texts ---- */

static int32_t majority_class(const struct baseline_training *training)
{
    int64_t counts[CLASSES_MAX] = {0};
    int32_t best = 0;
    for (int64_t i = 0; i < training->texts.count; i++)
        counts[training->targets.labels[i]]++;
    for (int32_t class = 1; class < training->targets.classes; class ++)
        if (counts[class] > counts[best])
            best = class;
    return best;
}

static double mean_value(const struct baseline_training *training)
{
    double sum = 0;
    for (int64_t i = 0; i < training->texts.count; i++)
        sum += training->targets.values[i];
    return sum / (double)training->texts.count;
}

void baseline_majority(const struct baseline_training *training, int64_t count,
                       const struct baseline_predictions *predictions)
{
    const bool classes = training->targets.classes > 0;
    const int32_t class = classes ? majority_class(training) : 0;
    const double value = classes ? 0 : mean_value(training);
    for (int64_t i = 0; i < count; i++)
        if (classes)
            predictions->classes[i] = class;
        else
            predictions->values[i] = value;
}

/* ---- with their words ---- */

static rotary_status predict(const struct linear_model *model, const struct feature_rows *rows,
                             const struct baseline_predictions *predictions, rotary_error *error)
{
    double *scores = malloc((size_t)model->outputs * sizeof *scores);
    if (!scores)
        return rotary_fail_memory(error, "for %d scores", model->outputs);
    for (int64_t row = 0; row < rows->rows; row++) {
        linear_scores(model, rows, row, scores);
        if (model->classes > 0)
            predictions->classes[row] = linear_class(model, scores);
        else
            predictions->values[row] = scores[0];
    }
    free(scores);
    return ROTARY_OK;
}

static rotary_status fit(struct linear_model *model, const struct word_vocabulary *vocabulary,
                         const struct baseline_training *training, double penalty, rotary_error *error)
{
    struct feature_rows rows;
    rotary_status status = word_features(&rows, vocabulary, &training->texts, error);
    if (status != ROTARY_OK)
        return status;
    status = linear_fit(model, &rows, &training->targets, penalty, TOLERANCE, error);
    feature_rows_free(&rows);
    return status;
}

rotary_status baseline_bag_of_words(const struct baseline_training *training, const struct word_texts *texts,
                                    const struct baseline_config *config,
                                    const struct baseline_predictions *predictions, rotary_error *error)
{
    struct word_vocabulary vocabulary;
    struct linear_model model = {0};
    struct feature_rows rows = {0};
    rotary_status status = word_vocabulary_create(&vocabulary, &training->texts, config->min_texts, error);
    if (status != ROTARY_OK)
        return status;
    status = fit(&model, &vocabulary, training, config->penalty, error);
    if (status == ROTARY_OK)
        status = word_features(&rows, &vocabulary, texts, error);
    if (status == ROTARY_OK)
        status = predict(&model, &rows, predictions, error);
    feature_rows_free(&rows);
    linear_free(&model);
    word_vocabulary_free(&vocabulary);
    return status;
}
