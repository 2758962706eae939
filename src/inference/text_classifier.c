/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/text_classifier.h"

#include "base/fail.h"
#include "model/generation/token_choice.h"
#include "task/classification/classification.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rotary_status text_classifier_create(struct text_classifier *classifier, const struct loaded_model *model,
                                     const char *folder, rotary_error *error)
{
    const struct task_shape shape = task_shape(model->task);
    *classifier = (struct text_classifier){.model = model,
                                           .labels = task_labels(model->task),
                                           .pairs = shape.segments,
                                           .choices = shape.choices};
    if (!shape.labels)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is a run of the task %s, which has no labels: wanted one of the task "
                           "classification",
                           folder, task_names[model->config.task.task]);
    classifier->outputs = classifier->labels.regression ? 1 : classifier->labels.classes;
    classifier->logits = malloc((size_t)classifier->outputs * sizeof *classifier->logits);
    classifier->order = malloc((size_t)classifier->outputs * sizeof *classifier->order);
    return classifier->logits && classifier->order
               ? ROTARY_OK
               : rotary_fail_memory(error, "for %d classes", classifier->outputs);
}

void text_classifier_free(struct text_classifier *classifier)
{
    free(classifier->logits);
    free(classifier->order);
}

/* A text and its choices have tabs between them. */
static rotary_status split_choices(struct text_classifier *classifier, const struct text_line *line,
                                   struct labelled_example *example, rotary_error *error)
{
    const char *at = line->bytes, *end = line->bytes + line->count;
    int count = 0;
    for (bool more = true; more; count++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const struct text_line text = {at, (tab ? tab : end) - at};
        if (count == 0)
            example->first = text;
        else if (count <= classifier->choices)
            classifier->choice_texts[count - 1] = text;
        more = tab != NULL;
        at = more ? tab + 1 : end;
    }
    example->choices = classifier->choice_texts;
    if (count == 1 + classifier->choices)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "there are %d texts: wanted a text and its %d choices with tabs between them", count,
                       classifier->choices);
}

/* A pair has a tab between its texts. */
static rotary_status split_line(struct text_classifier *classifier, const struct text_line *line,
                                struct labelled_example *example, rotary_error *error)
{
    *example = (struct labelled_example){.first = *line};
    if (classifier->choices > 0)
        return split_choices(classifier, line, example, error);
    const char *tab = memchr(line->bytes, '\t', (size_t)line->count);
    const char *end = line->bytes + line->count;
    const bool pair = classifier->pairs || (classifier->labels.pairs_unknown && tab);
    if (!pair && !tab)
        return ROTARY_OK;
    if (!pair)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "there is a tab: wanted a single text, as the model was trained on");
    if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "there is %s: wanted two texts with a tab between them",
                           tab ? "more than one tab" : "no tab");
    example->first.count = tab - line->bytes;
    example->second = (struct text_line){tab + 1, end - tab - 1};
    return ROTARY_OK;
}

/* Makes logits probabilities and sorts the classes by them, the first of equal ones first. */
static void rank(struct text_classifier *classifier)
{
    float *logits = classifier->logits;
    double largest = -INFINITY, sum = 0;
    for (int k = 0; k < classifier->outputs; k++)
        largest = fmax(largest, (double)logits[k]);
    for (int k = 0; k < classifier->outputs; k++)
        sum += exp((double)logits[k] - largest);
    for (int k = 0; k < classifier->outputs; k++) {
        logits[k] = (float)(exp((double)logits[k] - largest) / sum);
        int place = k;
        for (; place > 0 && logits[classifier->order[place - 1]] < logits[k]; place--)
            classifier->order[place] = classifier->order[place - 1];
        classifier->order[place] = k;
    }
}

/* The logits of one sequence of an example. */
static rotary_status run_sequence(const struct text_classifier *classifier,
                                  const struct classification_split_tokens *tokens, int64_t sequence,
                                  float *logits, rotary_error *error)
{
    const int64_t first = tokens->starts[sequence], count = tokens->starts[sequence + 1] - first;
    const bool pair = tokens->seconds[sequence] < count;
    int32_t *segments = pair ? malloc((size_t)count * sizeof *segments) : NULL;
    for (int64_t i = 0; segments && i < count; i++)
        segments[i] = i >= tokens->seconds[sequence];
    const struct batch batch = {
        .input = {.batch = 1, .time = count, .tokens = tokens->tokens + first, .segments = segments}};
    rotary_status status = pair && !segments
                               ? rotary_fail_memory(error, "for %lld tokens", (long long)count)
                               : transformer_logits(classifier->model->transformer, &batch, logits, error);
    free(segments);
    return status;
}

rotary_status text_classifier_run(struct text_classifier *classifier, const struct text_line *line,
                                  rotary_error *error)
{
    struct labelled_example example;
    struct classification_split_tokens tokens;
    rotary_status status = split_line(classifier, line, &example, error);
    if (status == ROTARY_OK)
        status = classification_tokens(&tokens, classifier->model->task, &example, 1, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < tokens.count && status == ROTARY_OK; i++)
        status = run_sequence(classifier, &tokens, i, classifier->logits + i, error);
    if (status == ROTARY_OK)
        status = token_check_logits(classifier->logits, classifier->outputs, error);
    if (status == ROTARY_OK && !classifier->labels.regression)
        rank(classifier);
    classification_tokens_free(&tokens);
    return status;
}
