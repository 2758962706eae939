/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary data: what training, validation and evaluation read.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/label_data.h"
#include "cli/output/result.h"
#include "cli/own_text.h"
#include "cli/run_plan.h"
#include "file/npy.h"
#include "run_folder/folder.h"
#include "train/data_arrays.h"
#include "train/folder/checkpoint.h"
#include "train/weights/huggingface_run.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1 << 20, LABEL_BYTES = 128 };

struct data_options {
    struct configuration_options configuration;
    struct option_integer split, step, rows;
    const char *run, *output, *text;
    bool baselines;
};

#define MEMBER(member) offsetof(struct data_options, member)
static const struct setting data_table[] = {
    {"--run", SETTING_TEXT, MEMBER(run), .metavar = "DIR",
     .help = "take configuration and seed from the run in DIR (default: from the preset)"},
    {"--split", SETTING_CHOICE, MEMBER(split), .metavar = "NAME", .choices = data_split_names,
     .help = "training, validation, test or problems (default: training)"},
    {"--step", SETTING_INTEGER, MEMBER(step), .metavar = "N", .min = 1, .max = 4294967295.0,
     .help = "of training data, counted from 1 (default: 1)"},
    {"--rows", SETTING_INTEGER, MEMBER(rows), .metavar = "N", .min = 1, .max = MAX_ROWS,
     .help = "the first N rows or problems (default: all of the step, or of an evaluation)"},
    {"--output", SETTING_TEXT, MEMBER(output), .metavar = "FILE",
     .help = "write token ids as one .npy file instead of text"},
    {"--baselines", SETTING_BOOLEAN, MEMBER(baselines),
     .help = "of a task with labels: score the majority class and a linear model of words"},
};

struct data_plan {
    struct own_text text;
    struct run_config config; /* owned */
    struct data_request request;
    char label[LABEL_BYTES];  /* "index, seed 1, training step 3" */
    struct label_data labels; /* of a task with labels; task NULL: it has none */
    bool baselines;           /* are wanted */
};

/* The configuration of --run, whose files --output must not replace. */
static rotary_status read_run(const struct data_options *options, struct run_config *recorded,
                              rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (options->output)
        status = folder_refuse_output(options->run, options->output, error);
    if (status != ROTARY_OK)
        return status;
    bool others = false; /* it is a model in Hugging Face's format, of which nobody has a checksum */
    status = run_read_config(options->run, recorded, error);
    if (status == ROTARY_OK)
        status = huggingface_run_find(options->run, &others, error);
    if (status == ROTARY_OK && !others)
        status = run_check_unchanged(options->run, error);
    if (status == ROTARY_OK && !others)
        status = checkpoint_check(options->run, recorded, error);
    if (status == ROTARY_INVALID_ARGUMENT) /* of the folder, not of the command line */
        return error->status = ROTARY_IO_ERROR;
    return status;
}

static rotary_status plan(const struct invocation *invocation, struct data_plan *plan, rotary_error *error)
{
    const struct data_options *options = invocation->options;
    struct plan_request request = {.task = invocation->operands.items[0],
                                   .preset = options->configuration.preset,
                                   .assignments = &plan->text.assignments,
                                   .text = plan->text.name,
                                   .common = &invocation->common,
                                   .tokenizers = invocation->tokenizers,
                                   .watch = invocation->watch};
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    plan->request = (struct data_request){.config = &plan->config,
                                          .split = (enum data_split)options->split.value,
                                          .step = options->step.given ? options->step.value : 1,
                                          .rows = options->rows.value};
    if (options->step.given && plan->request.split != DATA_TRAINING)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--step with --split %s, which is the same at every step: leave it out",
                           data_split_names[plan->request.split]);
    rotary_status status =
        own_text_read(&plan->text, request.task, options->text, &options->configuration.assignments, error);
    if (status == ROTARY_OK && options->run)
        status = read_run(options, &recorded, error);
    if (status == ROTARY_OK && options->output)
        status = folder_refuse_any(options->output, error);
    request.base = options->run ? &recorded : NULL;
    if (status == ROTARY_OK)
        status = plan_draft(&request, &plan->config, error);
    if (!options->run) /* rows are shown, however few steps a small corpus makes */
        plan->config.train.average_checkpoints = 0;
    if (status == ROTARY_OK)
        status = options->run ? run_config_check_recorded(&plan->config, options->run, error)
                              : run_config_check(&plan->config, error);
    const struct unused_keys_call keys = {.configs = &plan->config, .count = 1, .folder = options->run};
    if (status == ROTARY_OK)
        status =
            unused_keys_check_assigned(&keys, request.assignments->items, request.assignments->count, error);
    if (status != ROTARY_OK)
        return status;
    int used = snprintf(plan->label, LABEL_BYTES, "%s, seed %lld, %s", request.task,
                        (long long)plan->config.train.seed, data_split_names[plan->request.split]);
    if (plan->request.split == DATA_TRAINING)
        snprintf(plan->label + used, (size_t)(LABEL_BYTES - used), " step %lld",
                 (long long)plan->request.step);
    return ROTARY_OK;
}

/* ---- text ---- */

static void print_tokens(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count)
{
    const bool apart =
        !tokenizer_has_spaces(tokenizer) && (tokenizer_kind(tokenizer) == TOKENIZER_WORDS ||
                                             tokenizer_kind(tokenizer) == TOKENIZER_SENTENCEPIECE);
    const char *separator = apart ? " " : "";
    for (int64_t i = 0; i < count && tokens[i] != BATCH_IGNORED; i++) {
        const struct token_text text = tokenizer_text(tokenizer, tokens[i]);
        printf("%s%.*s", i > 0 ? separator : "", (int)text.count, text.bytes);
    }
}

/* The label of a row; false if the task has none. */
static bool print_label(const struct task *task, const struct data_arrays *data, int64_t row)
{
    const int32_t *targets = data_arrays_row(data, DATA_TARGETS, row);
    if (!task_shape(task).labels)
        return false;
    if (data->numbers)
        printf("%g", (double)data->numbers[row]);
    else
        printf("%s", task_labels(task).names[targets[0]].bytes);
    return true;
}

/* The targets that count, each with its place where some do not. */
static void print_targets(const struct task *task, const struct data_arrays *data, int64_t row)
{
    const struct tokenizer *tokenizer = task_tokenizer(task);
    const int32_t *targets = data_arrays_row(data, DATA_TARGETS, row),
                  *mask = data_arrays_row(data, DATA_MASK, row);
    int64_t counted = 0, last = -1;
    if (print_label(task, data, row))
        return;
    for (int64_t i = 0; i < data->time; i++) {
        counted += mask[i];
        last = mask[i] ? i : last;
    }
    if (counted == last + 1) { /* of a row that may be shorter than others */
        print_tokens(tokenizer, targets, counted);
        return;
    }
    for (int64_t i = 0; i < data->time; i++)
        if (mask[i]) {
            printf(" %lld:", (long long)i);
            print_tokens(tokenizer, targets + i, 1);
        }
}

/* Prints the sizes of a corpus without an encoder's side. */
static void print_documents(const struct task *task)
{
    for (int split = 0; split < TASK_SPLITS; split++) {
        const struct task_counts counts = task_counts(task, (enum task_split)split);
        if (counts.pairs > 0)
            printf("%s: %lld documents, %lld of them longer than a sequence and cut; %lld sequences; %lld "
                   "tokens (longest %lld)\n",
                   task_split_names[split], (long long)counts.pairs, (long long)counts.too_long,
                   (long long)task_examples(task, (enum task_split)split), (long long)counts.target_tokens,
                   (long long)counts.longest_target);
        if (counts.text_bytes > 0)
            printf("    %lld bytes of text, %.2f of them a token\n", (long long)counts.text_bytes,
                   (double)counts.text_bytes / (double)counts.target_tokens);
    }
    printf("vocabulary: %lld tokens\n", (long long)task_vocabulary(task).target);
}

static void print_pairs(const struct task *task)
{
    const struct task_vocabulary vocabulary = task_vocabulary(task);
    for (int split = 0; split < TASK_SPLITS; split++) {
        const struct task_counts counts = task_counts(task, (enum task_split)split);
        const int64_t used = task_examples(task, (enum task_split)split);
        printf("%s: %lld of %lld pairs used; %lld with an empty side and %lld too long, %s; tokens of source "
               "%lld (longest %lld), of target %lld (longest %lld)\n",
               task_split_names[split], (long long)used, (long long)counts.pairs, (long long)counts.empty,
               (long long)counts.too_long, split == TASK_TRAINING ? "left out" : "kept or cut",
               (long long)counts.source_tokens, (long long)counts.longest_source,
               (long long)counts.target_tokens, (long long)counts.longest_target);
    }
    if (vocabulary.shared)
        printf("vocabulary: %lld tokens for both languages\n", (long long)vocabulary.target);
    else
        printf("vocabularies: %lld tokens of source, %lld of target\n", (long long)vocabulary.source,
               (long long)vocabulary.target);
}

/* What became of the lines of a task's corpus, and its vocabularies. */
static void print_counts(const struct data_plan *plan, const struct task *task)
{
    if (plan->labels.task) {
        label_data_print(&plan->labels);
        return;
    }
    if (task_examples(task, TASK_TRAINING) == 0)
        return;
    if (task_shape(task).source_time > 0)
        print_pairs(task);
    else
        print_documents(task);
}

static void print_text(const struct data_plan *plan, const struct task *task, const struct data_arrays *data)
{
    const struct tokenizer *tokenizer = task_tokenizer(task);
    print_counts(plan, task);
    printf("%s: ", plan->label);
    if (data->split == DATA_PROBLEMS)
        printf("%lld, each a prompt and its answer\n", (long long)data->rows);
    else
        printf("%lld row%s of %lld tokens\n", (long long)data->rows, data->rows == 1 ? "" : "s",
               (long long)data->time);
    for (int64_t row = 0; row < data->rows; row++) {
        if (data->split == DATA_PROBLEMS) {
            print_tokens(tokenizer, data_arrays_row(data, DATA_PROMPTS, row), data->time);
            printf("  ");
            print_tokens(tokenizer, data_arrays_row(data, DATA_ANSWERS, row), data->time);
            putchar('\n');
            continue;
        }
        printf("row %lld\n", (long long)row);
        if (data->arrays > DATA_SOURCE) {
            printf("  source   ");
            print_tokens(task_source_tokenizer(task), data_arrays_row(data, DATA_SOURCE, row), data->time);
            putchar('\n');
        }
        printf("  tokens   ");
        print_tokens(tokenizer, data_arrays_row(data, DATA_TOKENS, row), data->time);
        printf("\n  targets  ");
        print_targets(task, data, row);
        putchar('\n');
    }
}

/* ---- JSON and .npy ---- */

static const char *array_name(const struct data_arrays *data, int array)
{
    static const char *const of_rows[] = {"tokens", "targets", "mask", "source"}, *const of_problems[] = {
                                                                                      "prompts", "answers"};
    return data->split == DATA_PROBLEMS ? of_problems[array] : of_rows[array];
}

static json_t *array_json(const struct data_arrays *data, int array)
{
    json_t *rows = json_array();
    for (int64_t row = 0; row < data->rows; row++) {
        const int32_t *values = data_arrays_row(data, (enum data_array)array, row);
        json_t *list = json_array();
        for (int64_t i = 0; i < data->time; i++)
            json_array_append_new(list, json_integer(values[i]));
        json_array_append_new(rows, list);
    }
    return rows;
}

static json_t *documents_json(const struct task *task, enum task_split split)
{
    const struct task_counts counts = task_counts(task, split);
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "documents", (json_int_t)counts.pairs, "cut",
                  (json_int_t)counts.too_long, "sequences", (json_int_t)task_examples(task, split), "tokens",
                  (json_int_t)counts.target_tokens, "longest", (json_int_t)counts.longest_target);
    if (object && counts.text_bytes > 0)
        json_object_set_new(object, "bytes", json_integer(counts.text_bytes));
    return object;
}

static json_t *pairs_json(const struct task *task, enum task_split split)
{
    const struct task_counts counts = task_counts(task, split);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pairs", (json_int_t)counts.pairs, "used",
                     (json_int_t)task_examples(task, split), "empty", (json_int_t)counts.empty, "too_long",
                     (json_int_t)counts.too_long, "source_tokens", (json_int_t)counts.source_tokens,
                     "target_tokens", (json_int_t)counts.target_tokens, "longest_source",
                     (json_int_t)counts.longest_source, "longest_target", (json_int_t)counts.longest_target);
}

static json_t *counts_json(const struct data_plan *plan, const struct task *task)
{
    json_t *splits = json_object();
    for (int split = 0; split < TASK_SPLITS; split++) {
        const enum task_split which = (enum task_split)split;
        json_object_set_new(splits, task_split_names[split],
                            plan->labels.task                  ? label_data_json(&plan->labels, which)
                            : task_shape(task).source_time > 0 ? pairs_json(task, which)
                                                               : documents_json(task, which));
    }
    return splits;
}

static rotary_status print_json(const struct data_plan *plan, const struct task *task,
                                const struct data_arrays *data, const char *output, rotary_error *error)
{
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:[i, I, I]}", "task", task_names[plan->config.task.task], "seed",
                  (json_int_t)plan->config.train.seed, "split", data_split_names[data->split], "shape",
                  data->arrays, (json_int_t)data->rows, (json_int_t)data->time);
    if (data->split == DATA_TRAINING)
        json_object_set_new(object, "step", json_integer(plan->request.step));
    if (output)
        json_object_set_new(object, "output", json_string(output));
    if (task_examples(task, TASK_TRAINING) > 0)
        json_object_set_new(object, "splits", counts_json(plan, task));
    json_t *arrays = json_array();
    for (int i = 0; i < data->arrays; i++)
        json_array_append_new(arrays, json_string(array_name(data, i)));
    json_object_set_new(object, "arrays", arrays);
    for (int i = 0; !output && i < data->arrays; i++)
        json_object_set_new(object, array_name(data, i), array_json(data, i));
    rotary_status status = plan->baselines ? label_data_baselines(task, object, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        return result_print_json(object, error);
    json_decref(object);
    return status;
}

static void print_written(const struct data_plan *plan, const struct data_arrays *data, const char *output)
{
    printf("%s: int32 [%d, %lld, %lld]: ", output, data->arrays, (long long)data->rows,
           (long long)data->time);
    for (int i = 0; i < data->arrays; i++)
        printf("%s%s", array_name(data, i), i + 1 < data->arrays ? ", " : "");
    printf(" of %s\n", plan->label);
}

static rotary_status print(const struct invocation *invocation, const struct data_plan *plan,
                           const struct task *task, const struct data_arrays *data, rotary_error *error)
{
    const char *output = ((const struct data_options *)invocation->options)->output;
    if (output) {
        const struct npy array = {.type = NPY_I32,
                                  .dimensions = 3,
                                  .shape = {data->arrays, data->rows, data->time},
                                  .data = data->values};
        rotary_status status = npy_write(output, &array, error);
        if (status != ROTARY_OK)
            return status;
    }
    if (invocation->common.json)
        return print_json(plan, task, data, output, error);
    if (output)
        print_written(plan, data, output);
    else
        print_text(plan, task, data);
    return plan->baselines ? label_data_baselines(task, NULL, error) : ROTARY_OK;
}

/* Prints, of a task with labels, what comes before its rows, and whether baselines are wanted. */
static rotary_status find_labels(const struct invocation *invocation, struct data_plan *plan,
                                 const struct task *task, rotary_error *error)
{
    const struct data_options *options = invocation->options;
    plan->labels.task = NULL;
    plan->baselines = options->baselines;
    if (task_shape(task).labels)
        return label_data_find(&plan->labels, task, error);
    if (!options->baselines)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--baselines: task %s has no labels: leave it out",
                       task_names[plan->config.task.task]);
}

static enum exit_status show(const struct invocation *invocation, struct data_plan *made)
{
    const struct data_options *options = invocation->options;
    rotary_error error = {0};
    if (plan(invocation, made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    own_text_say(&made->text, options->text);
    struct task *task;
    struct data_arrays data;
    rotary_status status = task_create(
        &task, &made->config.task,
        &(struct task_request){.folder = run_vocabulary_folder(&made->config, options->run)}, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = find_labels(invocation, made, task, &error);
    if (status == ROTARY_OK)
        status = data_arrays_create(&data, task, &made->request, &error);
    enum exit_status result = EXIT_DONE;
    if (status != ROTARY_OK) {
        result = command_refuse(invocation, &error);
    } else {
        if (print(invocation, made, task, &data, &error) != ROTARY_OK)
            result = command_fail(&error);
        data_arrays_free(&data);
    }
    task_destroy(task);
    return result;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct data_plan made = {0};
    const enum exit_status result = show(invocation, &made);
    run_config_free(&made.config);
    return result;
}

const struct command command_data = {
    .name = "data",
    .operands = "TASK",
    .summary = "prints what training and evaluation read",
    .more =
        "TASK is {tasks}. Prints the rows of a training step, the sequences of the validation loss, or the "
        "problems, which follow from configuration and seed alone: they are those of every run with both. A "
        "row "
        "of training data is one of batch_size; with gradient accumulation the rows of all micro-batches "
        "follow "
        "one another. A target is the token to predict at each place; all count in the loss unless places "
        "are "
        "given. --output writes int32 [3, rows, time], tokens, targets and mask: a target that does not "
        "count is "
        "-1, with 0 in the mask. Of problems it writes [2, rows, time], prompts and answers, with -1 after "
        "their ends. The ids are places in the vocabulary of a run, which its config.json has or names. Of "
        "the tasks "
        "translation, masked and language it prints first what became of the text of their files; of "
        "translation also "
        "the source, which is a fourth array. -1 follows the end of a shorter row of tokens or of source.",
    .example = "rotary data index --seed 3 --step 20 --output batch.npy\n"
               "in Python, tokens, targets, mask = numpy.load(\"batch.npy\") is then what step 20 of "
               "rotary train index --seed 3 learned from",
    .shared = {{configuration_options, 2, MEMBER(configuration)}, {own_text_option, 1, MEMBER(text)}},
    .options = data_table,
    .option_count = sizeof data_table / sizeof data_table[0],
    .options_size = sizeof(struct data_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
