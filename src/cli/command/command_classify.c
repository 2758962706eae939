/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary classify: the labels of texts, by a model of the task classification.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "cli/command.h"
#include "cli/run_plan.h"
#include "cli/tokenize_filter.h"
#include "inference/text_classifier.h"

#include <stdio.h>

enum { MAX_TOP = 1 << 16 };

struct classify_options {
    struct option_integer checkpoint, top;
};

#define MEMBER(member) offsetof(struct classify_options, member)
static const struct setting classify_table[] = {
    {"--top-k", SETTING_INTEGER, MEMBER(top), .metavar = "K", .min = 1, .max = MAX_TOP,
     .help = "print the K most probable classes of each line (default: 1)"},
};

/* What a line is printed from. */
struct classified {
    struct text_classifier classifier;
    int top;
};

static rotary_status compute(void *context, const struct text_line *line, rotary_error *error)
{
    struct classified *classified = context;
    return text_classifier_run(&classified->classifier, line, error);
}

/* ---- output ---- */

static void print_json(const struct text_classifier *classifier, int top, FILE *to)
{
    fprintf(to, "{\"classes\":[");
    for (int i = 0; i < top; i++) {
        const int class = classifier->order[i];
        const struct text_line *name = &classifier->labels.names[class];
        fprintf(to, "%s{\"label\":", i == 0 ? "" : ",");
        tokenize_print_string(to, name->bytes, name->count);
        fprintf(to, ",\"probability\":%.9g}", (double)classifier->logits[class]);
    }
    fprintf(to, "]}");
}

static void print(const void *context, FILE *to, bool json)
{
    const struct classified *classified = context;
    const struct text_classifier *classifier = &classified->classifier;
    if (classifier->labels.regression) {
        fprintf(to, json ? "{\"value\":%.9g}" : "%.6g", (double)classifier->logits[0]);
        return;
    }
    if (json) {
        print_json(classifier, classified->top, to);
        return;
    }
    for (int i = 0; i < classified->top; i++) {
        const int class = classifier->order[i];
        const struct text_line *name = &classifier->labels.names[class];
        fprintf(to, "%s%.*s\t%.4f", i == 0 ? "" : "\t", (int)name->count, name->bytes,
                (double)classifier->logits[class]);
    }
}

/* ---- the command ---- */

static rotary_status prepare(const struct invocation *invocation, const struct loaded_model *model,
                             struct classified *classified, rotary_error *error)
{
    const struct option_integer *top = &((const struct classify_options *)invocation->options)->top;
    const char *folder = invocation->operands.items[0];
    rotary_status status = text_classifier_create(&classified->classifier, model, folder, error);
    if (status == ROTARY_OK && classified->classifier.labels.regression && top->given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--top-k with %s, whose model predicts a number: leave it out", folder);
    classified->top = top->given ? (int)min_i64(top->value, classified->classifier.outputs) : 1;
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct classify_options *options = invocation->options;
    const struct tokenize_filter filter = {.key = "texts", .compute = compute, .print = print};
    const struct loaded_model_call call = {.folder = invocation->operands.items[0],
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1};
    struct loaded_model model;
    struct classified classified;
    rotary_error error = {0};
    rotary_status status = plan_open_model(&call, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = prepare(invocation, &model, &classified, &error);
    if (status == ROTARY_OK)
        status = tokenize_filter_lines(invocation, &filter, &classified, &error);
    text_classifier_free(&classified.classifier);
    loaded_model_close(&model);
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
    .on_device = true,
    .run = run,
};
