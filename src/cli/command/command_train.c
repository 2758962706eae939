/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary train: one run.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/profile_table.h"
#include "cli/output/progress.h"
#include "cli/output/result.h"
#include "cli/own_text.h"
#include "cli/program.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "model/encoding/model_encoding.h"
#include "ranks/ranks.h"
#include "records/collection.h"
#include "run_folder/folder.h"
#include "train/train.h"

#include <stdio.h>

struct train_options {
    struct configuration_options configuration;
    struct option_integer steps;
    const char *position, *out, *init, *text;
    bool resume, profile, tensorboard;
};

#define MEMBER(member) offsetof(struct train_options, member)
static const struct setting train_table[] = {
    {"--steps", SETTING_INTEGER, MEMBER(steps), .metavar = "N", .min = 0, .max = 4294967295.0,
     .help = "updates of the parameters; 0 writes the initial weights, which --resume trains (default: the "
             "preset's)"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "DIR",
     .help = "the run's folder (default: runs/TASK-PRESET-POSITION; of a text runs/TASK-TEXT, -PRESET if one "
             "is given, "
             "-POSITION)"},
    {"--init", SETTING_TEXT, MEMBER(init), .metavar = "DIR",
     .help = "begin with the last weights and the vocabulary of the run, or of the Hugging Face model, in "
             "DIR: --set init=DIR"},
    {"--resume", SETTING_BOOLEAN, MEMBER(resume),
     .help = "resume the run in the folder, with its configuration"},
    {"--tensorboard", SETTING_BOOLEAN, MEMBER(tensorboard),
     .help = "write an event file for TensorBoard beside metrics.jsonl; --resume continues one"},
    {"--profile", SETTING_BOOLEAN, MEMBER(profile),
     .help = "print the time of the steps by operation at the end, also after Ctrl-C"},
};

struct train_plan {
    struct own_text text;
    char default_folder[PLAN_FOLDER_BYTES];
    const char *folder;
    struct run_config config;
    struct backend backend;
};

/* The configuration of the run to resume. A mistyped folder must not start another run there. */
static rotary_status find_run(const char *folder, struct run_config *recorded, rotary_error *error)
{
    enum folder_state state;
    rotary_status status = folder_inspect(folder, &state, error);
    if (status == ROTARY_OK && state != FOLDER_RUN)
        status = rotary_fail(error, ROTARY_IO_ERROR,
                             comparison_file_exists(folder)
                                 ? "%s holds a comparison, which the rotary compare that began it resumes"
                                 : "there is no run in %s to resume, as it has no " FOLDER_CONFIG
                                   ": wanted the folder of one by --out",
                             folder);
    return status == ROTARY_OK ? run_read_config(folder, recorded, error) : status;
}

static rotary_status check_new(const struct option_list *assignments, struct run_config *config,
                               rotary_error *error)
{
    rotary_status status = run_config_check(config, error);
    const struct unused_keys_call used = {.configs = config, .count = 1};
    return status == ROTARY_OK
               ? unused_keys_check_assigned(&used, assignments->items, assignments->count, error)
               : status;
}

/* Refuses nothing that an earlier version accepted; train_run() refuses other keys than those of a plan. For
 * another number of epochs there are other steps. */
static rotary_status check_resumed(const struct run_config *recorded, const char *folder,
                                   struct run_config *config, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (config->train.epochs != recorded->train.epochs)
        status = run_config_derive_steps(config, folder, error);
    return status == ROTARY_OK ? run_config_check_recorded(config, folder, error) : status;
}

/* A resumed run keeps its configuration but for the options given. */
static rotary_status plan(const struct invocation *invocation, struct train_plan *plan, rotary_error *error)
{
    const struct train_options *options = invocation->options;
    struct plan_request request = {.task = invocation->operands.items[0],
                                   .preset = options->configuration.preset,
                                   .position = options->position,
                                   .init = options->init,
                                   .steps = options->steps,
                                   .assignments = &plan->text.assignments,
                                   .text = plan->text.name,
                                   .common = &invocation->common,
                                   .tokenizers = invocation->tokenizers,
                                   .watch = invocation->watch};
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    rotary_status status =
        own_text_read(&plan->text, request.task, options->text, &options->configuration.assignments, error);
    if (status == ROTARY_OK)
        status = plan_draft(&request, &plan->config, error);
    if (status != ROTARY_OK)
        return status;
    plan_folder(&request, model_encoding_name(&plan->config.model), plan->default_folder);
    plan->folder = options->out ? options->out : plan->default_folder;
    if (options->resume) {
        status = find_run(plan->folder, &recorded, error);
        request.base = &recorded;
        run_config_free(&plan->config);
        if (status == ROTARY_OK)
            status = plan_draft(&request, &plan->config, error);
    } else if (comparison_file_exists(plan->folder)) {
        status = rotary_fail(error, ROTARY_IO_ERROR, "%s holds a comparison: wanted another folder by --out",
                             plan->folder);
    }
    if (status == ROTARY_OK && options->resume)
        status = check_resumed(&recorded, plan->folder, &plan->config, error);
    else if (status == ROTARY_OK)
        status = check_new(request.assignments, &plan->config, error);
    if (status == ROTARY_OK)
        status = plan_say_schedules(&request, &plan->config, 1, error);
    if (status == ROTARY_OK)
        status = plan_backend(&invocation->common, plan->config.train.precision, &plan->backend, error);
    return status;
}

/* What training on a corpus reads, and what it leaves out. */
static void show_corpus(const struct task *task)
{
    const struct task_counts counts = task_counts(task, TASK_TRAINING);
    if (counts.pairs > 0 && task_shape(task).source_time == 0)
        fprintf(stderr, "%lld documents to train on, %lld of them cut: %lld sequences, %lld tokens\n",
                (long long)counts.pairs, (long long)counts.too_long,
                (long long)task_examples(task, TASK_TRAINING), (long long)counts.target_tokens);
    else if (counts.pairs > 0)
        fprintf(
            stderr,
            "%lld of %lld pairs to train on, %lld tokens of source, %lld of target; left out: %lld with an "
            "empty side, %lld too long\n",
            (long long)task_examples(task, TASK_TRAINING), (long long)counts.pairs,
            (long long)counts.source_tokens, (long long)counts.target_tokens, (long long)counts.empty,
            (long long)counts.too_long);
}

/* What there is before the first step. */
struct beginning {
    struct progress progress; /* the first member: `argument` of the calls is one for all */
    const char *folder, *init;
    int64_t steps;
};

static void show_beginning(void *argument, const struct train_beginning *train)
{
    const struct beginning *beginning = argument;
    if (train->done > 0)
        fprintf(stderr, "%s: resumed after step %lld of %lld, %lld left\n", beginning->folder,
                (long long)train->done, (long long)beginning->steps,
                (long long)(beginning->steps - train->done));
    plan_say_unused(beginning->init, train->unused);
    show_corpus(train->task);
}

static void show(void *argument, const struct train_progress *train)
{
    progress_step(argument, "", 0, train);
}

/* The profile of the steps, if it was asked for and there were any. */
struct profiled {
    struct profile profile;
    struct limits limits;
    int64_t steps; /* 0: nothing to show */
};

static rotary_status print_json(const struct invocation *invocation, const struct train_plan *plan,
                                const struct train_result *result, const struct profiled *profiled,
                                rotary_error *error)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:o, s:o, s:o}", "folder", plan->folder, "task",
        invocation->operands.items[0], "position", model_encoding_name(&plan->config.model), "seed",
        (json_int_t)plan->config.train.seed, "precision", rotary_dtype_name(plan->backend.storage), "steps",
        (json_int_t)result->steps_done, "first_step", (json_int_t)result->first_step, "loss",
        file_json_number(result->loss), "seconds", file_json_number(result->seconds), "evaluation",
        result->steps_done > 0 ? result_evaluation_json(&result->evaluation) : json_null());
    if (object && profiled->steps > 0) {
        json_object_set_new(object, "profile", profile_table_json(&profiled->profile));
        json_object_set_new(object, "matmul_rate", json_real(profiled->limits.matmul_rate));
        json_object_set_new(object, "memory_rate", json_real(profiled->limits.memory_rate));
    }
    return result_print_json(object, error);
}

static void print_profile(const struct profiled *profiled)
{
    if (profiled->steps > 0)
        profile_table_print(&profiled->profile, "step", (double)profiled->steps, &profiled->limits);
}

static void print_training(const struct train_result *result)
{
    char time[PROGRESS_TIME_BYTES];
    progress_time(result->seconds, time);
    printf("%lld steps", (long long)result->steps_done);
    if (result->first_step > 0)
        printf(" (from step %lld)", (long long)result->first_step);
    printf(" in %s, loss %.4f\n", time, result->loss);
    result_print_evaluation(&result->evaluation, "validation");
}

static rotary_status print_result(const struct invocation *invocation, const struct train_plan *plan,
                                  const struct train_result *result, const struct profiled *profiled,
                                  rotary_error *error)
{
    if (invocation->common.json)
        return print_json(invocation, plan, result, profiled, error);
    printf("%s, ", invocation->operands.items[0]);
    result_print_encoding(&plan->config.model);
    printf(", seed %lld, %s: ", (long long)plan->config.train.seed, rotary_dtype_name(plan->backend.storage));
    if (result->steps_done > 0)
        print_training(result);
    else
        printf("initial weights, no step\n");
    printf("%s\n", plan->folder);
    print_profile(profiled);
    return ROTARY_OK;
}

/* Prints the result of a run that ended or was interrupted. */
static rotary_status finish(const struct invocation *invocation, const struct train_plan *made,
                            const struct train_result *result, struct profiled *profiled,
                            rotary_status status, rotary_error *error)
{
    bool interrupted = status == ROTARY_INTERRUPTED;
    rotary_error ignored;
    profiled->steps = made->backend.profile ? result->steps_done - result->first_step : 0;
    if ((status == ROTARY_OK || interrupted) && profiled->steps > 0 &&
        limits_measure(&made->backend, &profiled->limits, &ignored) != ROTARY_OK)
        profiled->steps = 0;
    if (status == ROTARY_OK)
        return print_result(invocation, made, result, profiled, error);
    if (interrupted && !invocation->common.json)
        print_profile(profiled);
    if (interrupted)
        return rotary_fail(
            error, status,
            "stopped after step %lld of %lld and saved; to resume: rotary train %s --resume --out %s",
            (long long)result->steps_done, (long long)made->config.train.steps, invocation->operands.items[0],
            made->folder);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct train_options *options = invocation->options;
    struct train_plan made = {.folder = NULL};
    rotary_error error = {0};
    if (ranks_agree(invocation->ranks, plan(invocation, &made, &error), &error) != ROTARY_OK) {
        run_config_free(&made.config);
        return command_refuse(invocation, &error);
    }
    own_text_say(&made.text, options->text);
    struct profiled profiled = {.steps = 0};
    made.backend.profile = options->profile ? &profiled.profile : NULL;
    struct beginning beginning = {
        .folder = made.folder, .init = made.config.train.init, .steps = made.config.train.steps};
    struct progress *const progress = &beginning.progress;
    progress_start(progress);
    struct train_call call = {.config = &made.config,
                              .backend = &made.backend,
                              .ranks = invocation->ranks,
                              .folder = made.folder,
                              .resume = options->resume,
                              .tensorboard = options->tensorboard,
                              .commit = program_commit(),
                              .begin = show_beginning,
                              .progress = show,
                              .argument = &beginning,
                              .interrupted = invocation->interrupted};
    struct train_result result;
    rotary_status status = train_run(&call, &result, &error);
    progress_end(progress);
    status = finish(invocation, &made, &result, &profiled, status, &error);
    backend_destroy(&made.backend);
    run_config_free(&made.config);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_train = {
    .name = "train",
    .operands = "TASK",
    .summary = "trains one transformer on a task",
    .more =
        "TASK is {tasks}. The run's folder gets config.json, metrics.jsonl, "
        "model.safetensors, optimizer.safetensors and best.safetensors, the model with the lowest validation "
        "loss; a folder that holds a run is never overwritten. "
        "Ctrl-C, SIGTERM or SIGHUP saves the run and stops; --resume continues it bit-exactly. mpirun -n N "
        "rotary train ... --set shards=N trains on N processes or hosts, with the bits of one.",
    .example = "rotary train index --position roper --steps 600 --set batch_size=16 --out runs/mine\n"
               "trains a small model with rotary values to index substrings, in a few minutes or less",
    .shared = {{position_option, 1, MEMBER(position)},
               {configuration_options, 2, MEMBER(configuration)},
               {own_text_option, 1, MEMBER(text)}},
    .options = train_table,
    .option_count = sizeof train_table / sizeof train_table[0],
    .options_size = sizeof(struct train_options),
    .min_operands = 1,
    .max_operands = 1,
    .stopping = "stopping as soon as all is saved",
    .together = true,
    .on_device = true,
    .run = run,
};
