/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary evaluate: scores a trained model on its task.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/evaluated_lengths.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "cli/scored_text.h"
#include "file/file.h"
#include "model/encoding/model_encoding.h"
#include "run_folder/folder.h"
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_PROBLEMS = 1 << 16 };

struct evaluate_options {
    struct option_integer problems, show, checkpoint, split;
    struct option_real temperature;
    struct length_options lengths;
    struct scored_text_options text;
    const char *predictions, *picture;
    struct option_list assignments;
    struct option_integer rows; /* index into length_tables */
    bool csv;
};

static const char *const evaluated_splits[] = {"validation", "test", NULL};
static const char *const length_tables[] = {"lengths", "positions", NULL}; /* CSV_LENGTHS, CSV_POSITIONS */

#define MEMBER(member) offsetof(struct evaluate_options, member)
static const struct setting evaluate_table[] = {
    {"--problems", SETTING_INTEGER, MEMBER(problems), .metavar = "N", .min = 1, .max = MAX_PROBLEMS,
     .help =
         "problems to solve, or sentences to translate: the first N of them (default: the problems of the "
         "run's configuration, all sentences)"},
    {"--split", SETTING_CHOICE, MEMBER(split), .metavar = "NAME", .choices = evaluated_splits,
     .help = "validation or test, of a task with files of its own (default: validation)"},
    {"--show", SETTING_INTEGER, MEMBER(show), .metavar = "N", .min = 0, .max = MAX_PROBLEMS,
     .help = "show the first N problems with the model's answers (default: 0)"},
    {"--predictions", SETTING_TEXT, MEMBER(predictions), .metavar = "FILE",
     .help = "of a task with labels: write each example's label and prediction"},
    {"--picture", SETTING_TEXT, MEMBER(picture), .metavar = "FILE",
     .help = "with --evaluate-lengths, draw the perplexity of a text by position, as SVG"},
    {"--csv", SETTING_BOOLEAN, MEMBER(csv),
     .help = "with --evaluate-lengths, print comma-separated values instead"},
    {"--rows", SETTING_CHOICE, MEMBER(rows), .metavar = "NAME", .choices = length_tables,
     .help = "what a row of --csv is: lengths, or positions of the sequences of a text (default: lengths)"},
    {"--set", SETTING_LIST, MEMBER(assignments), .metavar = "KEY=VALUE",
     .help = "a key of the task (see rotary help settings), such as where its data are; may be repeated"},
};

static enum checkpoint_kind checkpoint_of(const struct evaluate_options *options)
{
    return (enum checkpoint_kind)options->checkpoint.value;
}

static void print_samples(const struct evaluation *evaluation)
{
    for (int64_t i = 0; i < evaluation->sample_count; i++) {
        const struct evaluation_sample *sample = &evaluation->samples[i];
        if (evaluation->translated > 0) {
            printf("source       %s\nreference    %s\ntranslation  %s\n\n", sample->problem.prompt,
                   sample->problem.answer, sample->generated);
            continue;
        }
        printf("%s  %s%s", sample->correct ? "correct" : "wrong", sample->problem.prompt, sample->generated);
        if (!sample->correct)
            printf("  wanted %s", sample->problem.answer);
        putchar('\n');
    }
}

/* The scores of a model. */
struct scores {
    uint64_t data_seed;
    struct evaluation evaluation;
    struct length_request asked;
    struct length_scores lengths; /* count 0: none were asked for */
};

/* What was scored, and on which data. */
static json_t *result_json(const struct invocation *invocation, const struct loaded_model *model,
                           const struct scores *scores)
{
    const struct evaluate_options *options = invocation->options;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:o}", "folder", invocation->operands.items[0],
                  "checkpoint", checkpoint_names[options->checkpoint.value], "split",
                  evaluated_splits[options->split.value], "step", (json_int_t)model->step, "task",
                  task_names[model->config.task.task], "position", model_encoding_name(&model->config.model),
                  "seed", (json_int_t)model->config.train.seed, "data_seed", (json_int_t)scores->data_seed,
                  "evaluation", result_evaluation_json(&scores->evaluation));
    if (object && scores->lengths.count > 0)
        json_object_set_new(object, "lengths", evaluated_lengths_json(&scores->lengths));
    return object;
}

static rotary_status print_result(const struct invocation *invocation, const struct loaded_model *model,
                                  const struct scores *scores, rotary_error *error)
{
    const struct evaluate_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_json(result_json(invocation, model, scores), error);
    if (options->csv)
        return evaluated_lengths_csv(&scores->lengths, &model->config,
                                     (enum csv_table)(CSV_LENGTHS + options->rows.value), error);
    print_samples(&scores->evaluation);
    printf("%s, ", task_names[model->config.task.task]);
    result_print_encoding(&model->config.model);
    printf(", step %lld: ", (long long)model->step);
    result_print_evaluation(&scores->evaluation, evaluated_splits[options->split.value]);
    if (scores->lengths.count > 0)
        evaluated_lengths_print(&scores->lengths, model->task);
    return ROTARY_OK;
}

static rotary_status evaluate(const struct invocation *invocation, const struct loaded_model *model,
                              struct scores *scores, rotary_error *error)
{
    const struct evaluate_options *options = invocation->options;
    const struct option_integer *seed = &invocation->common.seed;
    const int64_t problems =
        task_scoring(model->task) == SCORING_BLEU ? INT64_MAX : model->config.task.problems;
    scores->data_seed = (uint64_t)(seed->given ? seed->value : model->config.train.seed);
    struct evaluation_config how = {.seed = scores->data_seed,
                                    .problems = options->problems.given ? options->problems.value : problems,
                                    .test = options->split.value == 1,
                                    .predictions = options->predictions,
                                    .validation_sequences = model->config.train.validation_sequences,
                                    .temperature = (float)options->temperature.value};
    const struct length_call call = {.folder = invocation->operands.items[0],
                                     .checkpoint = checkpoint_of(options),
                                     .config = &model->config,
                                     .backend = &model->backend,
                                     .evaluation = &how,
                                     .factors = scores->asked.factors};
    rotary_status status = evaluation_run(model->task, model->transformer, &how, &scores->evaluation, error);
    if (status == ROTARY_OK)
        status = length_scores_run(&scores->lengths, &call, error);
    if (status == ROTARY_OK && options->picture)
        status = evaluated_lengths_draw(&scores->lengths, options->picture, error);
    return status == ROTARY_OK ? print_result(invocation, model, scores, error) : status;
}

/* What is made of the scores at other lengths. */
static rotary_status check_outputs(const struct invocation *invocation, const struct task_config *task,
                                   rotary_error *error)
{
    const struct evaluate_options *options = invocation->options;
    const char *name = options->picture      ? "--picture"
                       : options->csv        ? "--csv"
                       : options->rows.given ? "--rows"
                                             : NULL;
    if (name && !options->lengths.lengths)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is about --evaluate-lengths: give both", name);
    if (options->rows.given && !options->csv)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--rows needs --csv");
    if (options->csv && (invocation->common.json || options->show.given))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--csv and %s are both given: wanted one",
                           options->show.given ? "--show" : "--json");
    if (!options->picture)
        return ROTARY_OK;
    if (!task_cuts_text(task))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--picture: task %s has no text that is cut to sequences: leave it out",
                           task_names[task->task]);
    rotary_status status = folder_refuse_output(invocation->operands.items[0], options->picture, error);
    if (status == ROTARY_OK && options->lengths.factors)
        status = file_check_output(options->picture, &options->lengths.factors, 1, error);
    return status == ROTARY_OK ? folder_refuse_any(options->picture, error) : status;
}

static rotary_status read_lengths(const struct invocation *invocation, const struct loaded_model *model,
                                  struct scores *scores, rotary_error *error)
{
    const struct evaluate_options *options = invocation->options;
    rotary_status status =
        length_options_read(&options->lengths, &model->config, model->trained, &scores->asked, error);
    if (status == ROTARY_OK)
        status = check_outputs(invocation, &model->config.task, error);
    if (status != ROTARY_OK)
        return status;
    evaluated_lengths_want(&scores->lengths, &scores->asked);
    if (scores->asked.count > 0 && options->temperature.given)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "--temperature with --evaluate-lengths, which generates greedily: wanted one of the "
            "two");
    return ROTARY_OK;
}

/* Options about problems need a task that has some. */
static rotary_status check_options(const struct invocation *invocation, const struct task *task,
                                   rotary_error *error)
{
    const struct evaluate_options *options = invocation->options;
    const enum scoring scoring = task_scoring(task);
    const bool has_answers = scoring == SCORING_EXACT_MATCH || scoring == SCORING_BLEU;
    const char *name = options->problems.given && !has_answers                        ? "--problems"
                       : options->show.given && !has_answers                          ? "--show"
                       : options->temperature.given && scoring != SCORING_EXACT_MATCH ? "--temperature"
                                                                                      : NULL;
    if (options->predictions && !task_shape(task).labels)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--predictions: task %s has no labels: leave it out",
                           task_names[task_configuration(task)->task]);
    const char *const unhad = evaluated_splits[options->split.value];
    const enum task_split split = options->split.value == 1 ? TASK_TEST : TASK_VALIDATION;
    if (options->split.given && task_examples(task, split) == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--split %s: task %s has no %s set", unhad,
                           task_names[task_configuration(task)->task], unhad);
    if (name && scoring == SCORING_BLEU)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: evaluation translates greedily: leave it out",
                           name);
    if (!name)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s: task %s has no problems, only a validation loss: leave it out", name,
                       task_names[task_configuration(task)->task]);
}

/* What is asked of a task cannot be asked of a text. */
static rotary_status check_beside_text(const struct evaluate_options *options, rotary_error *error)
{
    const char *name = options->problems.given          ? "--problems"
                       : options->split.given           ? "--split"
                       : options->show.given            ? "--show"
                       : options->temperature.given     ? "--temperature"
                       : options->predictions           ? "--predictions"
                       : options->lengths.lengths       ? "--evaluate-lengths"
                       : options->lengths.scalings      ? "--evaluate-scaling"
                       : options->lengths.factors       ? "--evaluate-factors"
                       : options->picture               ? "--picture"
                       : options->csv                   ? "--csv"
                       : options->rows.given            ? "--rows"
                       : options->assignments.count > 0 ? "--set"
                                                        : NULL;
    if (!name || !scored_text_wanted(&options->text))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s with --text or --tokens: wanted one of the two",
                       name);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct evaluate_options *options = invocation->options;
    rotary_error error = {0};
    struct loaded_model model;
    if (scored_text_check(&options->text, &error) != ROTARY_OK ||
        check_beside_text(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    if (scored_text_wanted(&options->text))
        return scored_text_run(invocation, &options->text, checkpoint_of(options));
    const struct loaded_model_call load = {.folder = invocation->operands.items[0],
                                           .need = TASK_HELD_OUT,
                                           .checkpoint = checkpoint_of(options),
                                           .backend = plan_model_backend(&invocation->common),
                                           .assignments = options->assignments.items,
                                           .assignment_count = options->assignments.count};
    rotary_status status = plan_open_model(&load, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    struct scores scores = {.evaluation = {.sample_count = options->show.value}};
    if (check_options(invocation, model.task, &error) != ROTARY_OK ||
        read_lengths(invocation, &model, &scores, &error) != ROTARY_OK) {
        json_decref(scores.asked.factors);
        loaded_model_close(&model);
        return command_refuse(invocation, &error);
    }
    scores.evaluation.samples = calloc((size_t)options->show.value + 1, sizeof *scores.evaluation.samples);
    if (scores.evaluation.samples)
        status = evaluate(invocation, &model, &scores, &error);
    else
        status = rotary_fail_memory(&error, "to show %lld problems", (long long)options->show.value);
    free(scores.evaluation.samples);
    json_decref(scores.asked.factors);
    loaded_model_close(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_evaluate = {
    .name = "evaluate",
    .operands = "DIR",
    .summary = "scores a trained model on its task, or on any text",
    .more = "DIR is a run's folder, or that of a Hugging Face model, for which --set names the data. "
            "Problems and validation sequences are those of the run's seed, which were not trained on; "
            "--seed draws others. Translations are made greedily, and scored by BLEU. The interval is "
            "Wilson's: what other problems would change, not what another seed of training would. At other "
            "lengths other problems stand before one, or its text is longer (passkey); what a model cannot "
            "compute, such as positions beyond a learned table, is \"-\". Of the task classification "
            "--predictions writes a line for each example: its index, its label, the predicted one and the "
            "probability of each class, separated by tabs. Any decoder scores a --text.",
    .example = "rotary evaluate runs/mine --show 5\n"
               "solves the problems and shows the first five with the model's answers",
    .shared = {{temperature_option, 1, MEMBER(temperature)},
               {checkpoint_option, 1, MEMBER(checkpoint)},
               {length_option_rows, LENGTH_OPTION_ROWS, MEMBER(lengths)},
               {scored_text_rows, SCORED_TEXT_ROWS, MEMBER(text)}},
    .options = evaluate_table,
    .option_count = sizeof evaluate_table / sizeof evaluate_table[0],
    .options_size = sizeof(struct evaluate_options),
    .min_operands = 1,
    .max_operands = 1,
    .on_device = true,
    .run = run,
};
