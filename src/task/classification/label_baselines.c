/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/label_baselines.h"

#include "base/fail.h"
#include "score/baseline/baseline.h"
#include "score/baseline/tfidf.h"
#include "task/classification/labelled_corpus.h"

#include <stdlib.h>

const char *label_baseline_name(int baseline, bool choices)
{
    static const char *const names[] = {"majority", "bag_of_words"};
    return choices && baseline == BASELINE_WORDS ? "tfidf" : names[baseline];
}

const char *label_baseline_title(int baseline, bool choices)
{
    static const char *const titles[] = {"majority", "bag of words"};
    return choices && baseline == BASELINE_WORDS ? "TF-IDF" : titles[baseline];
}

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

/* ---- all of them ---- */

static rotary_status score(struct label_baselines *baselines, enum label_baseline which,
                           const struct label_baselines_call *call, const struct side *held,
                           rotary_error *error)
{
    struct label_scores *scores = &baselines->scores[which];
    scores->decides = call->decides;
    if (call->corpus->classes == 0)
        return label_scores_of_numbers(scores, held->values, baselines->values[which], held->texts.count,
                                       error);
    return label_scores_of_classes(scores, call->corpus->classes, held->labels, baselines->classes[which],
                                   held->texts.count, error);
}

static bool allocate(struct label_baselines *baselines, const struct labelled_corpus *corpus, int64_t count)
{
    const size_t room = (size_t)count + 1;
    bool enough = true;
    for (int i = 0; i < LABEL_BASELINES; i++) {
        if (corpus->classes == 0)
            baselines->values[i] = malloc(room * sizeof *baselines->values[i]);
        else
            baselines->classes[i] = malloc(room * sizeof *baselines->classes[i]);
        enough = enough && (baselines->values[i] || baselines->classes[i]);
    }
    return enough;
}

/* ---- choices ---- */

/* tfidf is learned from all texts of the training examples. */
static rotary_status learn_corpus(struct tfidf *tfidf, const struct labelled_corpus *corpus,
                                  rotary_error *error)
{
    const int64_t examples = corpus->counts[TASK_TRAINING];
    struct text_line *texts = malloc((size_t)(examples + 1) * LABELLED_MAX_TEXTS * sizeof *texts);
    int64_t count = 0;
    if (!texts)
        return rotary_fail_memory(error, "for baselines");
    for (int64_t i = 0; i < examples; i++)
        count += labelled_texts(corpus, &corpus->examples[TASK_TRAINING][i], texts + count);
    rotary_status status = tfidf_create(tfidf, texts, count, error);
    free(texts);
    return status;
}

/* chosen[i] is the choice of example i of the split that is the most similar to its text. */
static rotary_status choose_similar(const struct label_baselines_call *call, int32_t *chosen,
                                    rotary_error *error)
{
    const struct labelled_corpus *corpus = call->corpus;
    double similarities[LABELLED_MAX_CHOICES];
    struct tfidf tfidf;
    rotary_status status = learn_corpus(&tfidf, corpus, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < corpus->counts[call->split] && status == ROTARY_OK; i++) {
        const struct labelled_example *example = &corpus->examples[call->split][i];
        status = tfidf_choose(&tfidf, &example->first, example->choices, corpus->choices, similarities,
                              &chosen[i], error);
    }
    tfidf_free(&tfidf);
    return status;
}

static rotary_status predict(struct label_baselines *baselines, const struct label_baselines_call *call,
                             const struct side *training, const struct side *held, rotary_error *error)
{
    const struct baseline_training given = {training->texts,
                                            {call->corpus->classes, training->labels, training->values}};
    struct baseline_predictions predictions[LABEL_BASELINES];
    struct baseline_config config;
    baseline_config_default(&config);
    const bool choices = call->corpus->choices > 0;
    for (int i = 0; i < LABEL_BASELINES; i++)
        predictions[i] = (struct baseline_predictions){baselines->classes[i], baselines->values[i]};
    baseline_majority(&given, held->texts.count, &predictions[BASELINE_MAJORITY]);
    rotary_status status =
        choices ? choose_similar(call, predictions[BASELINE_WORDS].classes, error)
                : baseline_bag_of_words(&given, &held->texts, &config, &predictions[BASELINE_WORDS], error);
    for (int i = 0; i < LABEL_BASELINES && status == ROTARY_OK; i++)
        status = score(baselines, (enum label_baseline)i, call, held, error);
    return status;
}

rotary_status label_baselines_run(struct label_baselines *baselines, const struct label_baselines_call *call,
                                  rotary_error *error)
{
    const struct labelled_corpus *corpus = call->corpus;
    const int64_t count = corpus->counts[call->split];
    struct side training = {.first = NULL}, held = {.first = NULL};
    *baselines = (struct label_baselines){.values = {NULL}};
    rotary_status status =
        allocate(baselines, corpus, count) &&
                fill_side(&training, corpus->examples[TASK_TRAINING], corpus->counts[TASK_TRAINING]) &&
                fill_side(&held, corpus->examples[call->split], count)
            ? predict(baselines, call, &training, &held, error)
            : rotary_fail_memory(error, "for baselines");
    free_side(&training);
    free_side(&held);
    if (status != ROTARY_OK)
        label_baselines_free(baselines);
    return status;
}

void label_baselines_free(struct label_baselines *baselines)
{
    for (int i = 0; i < LABEL_BASELINES; i++) {
        free(baselines->classes[i]);
        free(baselines->values[i]);
    }
    *baselines = (struct label_baselines){.values = {NULL}};
}
