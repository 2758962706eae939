/* SPDX-License-Identifier: Apache-2.0 */
#include "train/label_baselines.h"

#include "base/fail.h"
#include "score/baseline.h"
#include "task/labelled_corpus.h"

#include <stdlib.h>

/* The examples of a split, as baselines read them. */
struct side {
    struct word_texts texts;
    struct text_line *first, *second;
    int32_t *labels;
    double *values;
};

static bool fill_side(struct side *side, const struct labelled_example *examples, int64_t count)
{
    const size_t room = (size_t)count + 1;
    side->first = malloc(room * sizeof *side->first);
    side->second = malloc(room * sizeof *side->second);
    side->labels = malloc(room * sizeof *side->labels);
    side->values = malloc(room * sizeof *side->values);
    if (!side->first || !side->second || !side->labels || !side->values)
        return false;
    for (int64_t i = 0; i < count; i++) {
        side->first[i] = examples[i].first;
        side->second[i] = examples[i].second;
        side->labels[i] = examples[i].class;
        side->values[i] = examples[i].value;
    }
    side->texts =
        (struct word_texts){count, side->first, count > 0 && side->second[0].bytes ? side->second : NULL};
    return true;
}

static void free_side(struct side *side)
{
    free(side->first);
    free(side->second);
    free(side->labels);
    free(side->values);
}

static rotary_status score(struct label_scores *scores, const struct task_labels *labels,
                           const struct side *held, const struct baseline_predictions *predictions,
                           rotary_error *error)
{
    scores->decides = labels->score;
    if (labels->regression)
        return label_scores_of_numbers(scores, held->values, predictions->values, held->texts.count, error);
    return label_scores_of_classes(scores, labels->classes, held->labels, predictions->classes,
                                   held->texts.count, error);
}

static rotary_status run(const struct task_labels *labels, const struct side *training,
                         const struct side *held, const struct baseline_predictions *predictions,
                         struct label_baselines *baselines, rotary_error *error)
{
    const struct baseline_training given = {training->texts,
                                            {labels->classes, training->labels, training->values}};
    struct baseline_config config;
    baseline_config_default(&config);
    baseline_majority(&given, held->texts.count, predictions);
    rotary_status status = score(&baselines->majority, labels, held, predictions, error);
    if (status == ROTARY_OK)
        status = baseline_bag_of_words(&given, &held->texts, &config, predictions, error);
    return status == ROTARY_OK ? score(&baselines->words, labels, held, predictions, error) : status;
}

rotary_status label_baselines_run(const struct task *task, enum task_split split,
                                  struct label_baselines *baselines, rotary_error *error)
{
    const struct labelled_corpus *corpus = task_labelled(task);
    const struct task_labels labels = task_labels(task);
    const size_t count = (size_t)corpus->counts[split] + 1;
    struct side training = {.first = NULL}, held = {.first = NULL};
    const struct baseline_predictions predictions = {malloc(count * sizeof *predictions.classes),
                                                     malloc(count * sizeof *predictions.values)};
    rotary_status status =
        predictions.classes && predictions.values &&
                fill_side(&training, corpus->examples[TASK_TRAINING], corpus->counts[TASK_TRAINING]) &&
                fill_side(&held, corpus->examples[split], corpus->counts[split])
            ? run(&labels, &training, &held, &predictions, baselines, error)
            : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for baselines");
    free(predictions.classes);
    free(predictions.values);
    free_side(&training);
    free_side(&held);
    return status;
}
