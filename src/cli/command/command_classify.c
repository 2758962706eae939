/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary classify: the labels of texts, by a model of the task classification.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/run_plan.h"
#include "cli/tokenize_filter.h"
#include "task/classification/classification.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOP = 1 << 16 };

struct classify_options {
    struct option_integer checkpoint, top;
};

#define MEMBER(member) offsetof(struct classify_options, member)
static const struct setting classify_table[] = {
    {"--top-k", SETTING_INTEGER, MEMBER(top), .metavar = "K", .min = 1, .max = MAX_TOP,
     .help = "print the K most probable classes of each line (default: 1)"},
};

struct classifier {
    struct loaded_model model;
    struct task_labels labels;
    bool pairs;
    int choices; /* of each text; 0: it has none, but classes */
    struct text_line choice_texts[LABELLED_MAX_CHOICES];
    int outputs, top;
    float *logits; /* [outputs]; of classes: their probabilities, once a line is computed */
    int *order;    /* [outputs]: classes, the most probable first */
};

/* ---- a line ---- */

/* A text and its choices have tabs between them. */
static rotary_status split_choices(struct classifier *classifier, const struct text_line *line,
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
static rotary_status split_line(struct classifier *classifier, const struct text_line *line,
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
static void rank(struct classifier *classifier)
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
static rotary_status run_sequence(const struct classifier *classifier,
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
    rotary_status status =
        pair && !segments
            ? rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld tokens", (long long)count)
            : transformer_logits(classifier->model.transformer, &batch, logits, error);
    free(segments);
    return status;
}

static rotary_status compute(void *context, const struct text_line *line, rotary_error *error)
{
    struct classifier *classifier = context;
    struct labelled_example example;
    struct classification_split_tokens tokens;
    rotary_status status = split_line(classifier, line, &example, error);
    if (status == ROTARY_OK)
        status = classification_tokens(&tokens, classifier->model.task, &example, 1, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < tokens.count && status == ROTARY_OK; i++)
        status = run_sequence(classifier, &tokens, i, classifier->logits + i, error);
    if (status == ROTARY_OK && !classifier->labels.regression)
        rank(classifier);
    classification_tokens_free(&tokens);
    return status;
}

/* ---- output ---- */

static void print_json(const struct classifier *classifier)
{
    printf("{\"classes\":[");
    for (int i = 0; i < classifier->top; i++) {
        const int class = classifier->order[i];
        const struct text_line *name = &classifier->labels.names[class];
        printf("%s{\"label\":", i == 0 ? "" : ",");
        tokenize_print_string(name->bytes, name->count);
        printf(",\"probability\":%.9g}", (double)classifier->logits[class]);
    }
    printf("]}");
}

static void print(const void *context, bool json)
{
    const struct classifier *classifier = context;
    if (classifier->labels.regression) {
        printf(json ? "{\"value\":%.9g}" : "%.6g", (double)classifier->logits[0]);
        return;
    }
    if (json) {
        print_json(classifier);
        return;
    }
    for (int i = 0; i < classifier->top; i++) {
        const int class = classifier->order[i];
        const struct text_line *name = &classifier->labels.names[class];
        printf("%s%.*s\t%.4f", i == 0 ? "" : "\t", (int)name->count, name->bytes,
               (double)classifier->logits[class]);
    }
}

/* ---- the command ---- */

static rotary_status prepare(const struct invocation *invocation, struct classifier *classifier,
                             rotary_error *error)
{
    const struct classify_options *options = invocation->options;
    const struct task *task = classifier->model.task;
    classifier->labels = task_labels(task);
    if (!task_shape(task).labels)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is a run of the task %s, which has no labels: wanted one of the task "
                           "classification",
                           invocation->operands.items[0], task_names[classifier->model.config.task.task]);
    if (classifier->labels.regression && options->top.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--top-k with %s, whose model predicts a number: leave it out",
                           invocation->operands.items[0]);
    classifier->pairs = task_shape(task).segments;
    classifier->choices = task_shape(task).choices;
    classifier->outputs = classifier->labels.regression ? 1 : classifier->labels.classes;
    classifier->top = options->top.given && options->top.value < classifier->outputs ? (int)options->top.value
                      : options->top.given                                           ? classifier->outputs
                                                                                     : 1;
    classifier->logits = malloc((size_t)classifier->outputs * sizeof *classifier->logits);
    classifier->order = malloc((size_t)classifier->outputs * sizeof *classifier->order);
    return classifier->logits && classifier->order
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %d classes", classifier->outputs);
}

static enum exit_status run(const struct invocation *invocation)
{
    struct classifier classifier = {.top = 0};
    const struct tokenize_filter filter = {.key = "texts", .compute = compute, .print = print};
    const struct loaded_model_call call = {
        .folder = invocation->operands.items[0],
        .checkpoint =
            (enum checkpoint_kind)((const struct classify_options *)invocation->options)->checkpoint.value,
        .backend = plan_model_backend(&invocation->common),
        .need = TASK_TOKENIZERS,
        .batch = 1};
    rotary_error error = {0};
    rotary_status status = plan_open_model(&call, &classifier.model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = prepare(invocation, &classifier, &error);
    if (status == ROTARY_OK)
        status = tokenize_filter_lines(invocation, &filter, &classifier, &error);
    loaded_model_close(&classifier.model);
    free(classifier.logits);
    free(classifier.order);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_classify = {
    .name = "classify",
    .operands = "DIR",
    .summary = "labels texts: standard input to standard output",
    .more =
        "DIR is the folder of a run of the task classification, or of a Hugging Face BERT or RoFormer "
        "with a head for sequence classification, which reads texts and pairs. Every line of standard input "
        "is a text, or a pair with a tab between the texts, as the run was trained on, or a text and its "
        "choices likewise. It becomes a line with the most probable class or choice, a tab and its "
        "probability; of a regression it becomes the number. What a sequence of the run has no room for is "
        "cut off, as in training.",
    .example =
        "echo 'The woman gave the child a red ball .' | rotary classify runs/classification-quick-rope\n"
        "names the class of the sentence and its probability",
    .shared = {{checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = classify_table,
    .option_count = sizeof classify_table / sizeof classify_table[0],
    .options_size = sizeof(struct classify_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
