/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary translate: a filter from lines of text to their translations.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "cli/command.h"
#include "cli/output/progress.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "inference/translation_batch.h"
#include "records/comparison/comparison_file.h"
#include "study/run_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_BEAMS = 5,
    DEFAULT_BATCH_SIZE = 64,
    MAX_BEAMS = 256,
    MAX_BATCH_SIZE = 1 << 14,
    MAX_LENGTH = 1 << 20,
    LINES_AT_ONCE = 2048,     /* lines that are sorted by length together, if there are as many already */
    TOKENS_AT_ONCE = 1 << 23, /* or fewer, for their translations */
    WAIT_MILLISECONDS = 100,
    NAMES_BYTES = 128, /* of the names of runs in a message */
};

struct translate_options {
    struct option_integer beams, n_best, max_length, batch_size, top_k, checkpoint;
    struct option_real length_penalty, temperature;
    bool scores, copy_unknown;
};

#define MEMBER(member) offsetof(struct translate_options, member)
static const struct setting translate_table[] = {
    {"--beams", SETTING_INTEGER, MEMBER(beams), .metavar = "N", .min = 1, .max = MAX_BEAMS,
     .help = "unfinished translations of a line that beam search keeps; 1 is greedy (default: 5)"},
    {"--length-penalty", SETTING_REAL, MEMBER(length_penalty), .metavar = "X", .min = 0, .max = 10,
     .help = "a translation's score is the sum of the log-probabilities of its tokens, divided by their "
             "number to "
             "the power of X (default: 1)"},
    {"--n-best", SETTING_INTEGER, MEMBER(n_best), .metavar = "N", .min = 1, .max = MAX_BEAMS,
     .help = "print the N best translations of every line, one below the other (default: 1)"},
    {"--scores", SETTING_BOOLEAN, MEMBER(scores),
     .help = "print the score and a tab before every translation"},
    {"--max-length", SETTING_INTEGER, MEMBER(max_length), .metavar = "N", .min = 1, .max = MAX_LENGTH,
     .help =
         "maximum number of tokens of a translation (default: twice those of the line and 10, or as many as "
         "the model has positions for)"},
    {"--top-k", SETTING_INTEGER, MEMBER(top_k), .metavar = "N", .min = 1, .max = MAX_LENGTH,
     .help = "with --temperature, sample from the N most probable tokens alone (default: all)"},
    {"--copy-unknown", SETTING_BOOLEAN, MEMBER(copy_unknown),
     .help = "allow unknown words and replace each by the word of the line that it attends to most; for "
             "vocabularies of words"},
    {"--batch-size", SETTING_INTEGER, MEMBER(batch_size), .metavar = "N", .min = 1, .max = MAX_BATCH_SIZE,
     .help = "lines to translate at once; changes the speed alone (default: 64)"},
};

/* ---- The plan. ---- */

static bool samples(const struct translate_options *options)
{
    return options->temperature.value > 0;
}

static int64_t given_or(struct option_integer option, int64_t otherwise)
{
    return option.given ? option.value : otherwise;
}

/* Decides that as many translations are sampled as are printed. */
static int64_t beams_of(const struct translate_options *options)
{
    return samples(options) ? given_or(options->n_best, 1) : given_or(options->beams, DEFAULT_BEAMS);
}

static rotary_status check_options(const struct translate_options *options, rotary_error *error)
{
    if (samples(options) && options->beams.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--beams with --temperature: wanted one of them, a search or samples");
    if (!samples(options) && options->top_k.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--top-k without --temperature: wanted both, to sample");
    if (given_or(options->n_best, 1) > beams_of(options))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--n-best is %lld: wanted at most the beams, %lld",
                           (long long)options->n_best.value, (long long)beams_of(options));
    return ROTARY_OK;
}

/* The maximum of tokens of a translation. Unknown words are found by a whole forward pass, for which models
 * have room for sequence_length tokens. */
static int64_t max_length(const struct translate_options *options, const struct loaded_model *model)
{
    int64_t positions = model->config.model.max_position_embeddings;
    return options->copy_unknown ? min_i64(positions, model->config.task.sequence_length) : positions;
}

static rotary_status check_model(const struct translate_options *options, const struct loaded_model *model,
                                 const char *folder, rotary_error *error)
{
    if (!task_source_tokenizer(model->task))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: a model of the task %s, wanted one that translates", folder,
                           task_names[model->config.task.task]);
    bool words = tokenizer_kind(task_tokenizer(model->task)) == TOKENIZER_WORDS &&
                 tokenizer_kind(task_source_tokenizer(model->task)) == TOKENIZER_WORDS;
    if (options->copy_unknown && !words)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "--copy-unknown: the vocabularies of %s are not of words, and have no unknown ones", folder);
    if (options->max_length.given && options->max_length.value > max_length(options, model))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--max-length is %lld: the model %s %lld %s",
                           (long long)options->max_length.value,
                           options->copy_unknown ? "copies unknown words of at most" : "has",
                           (long long)max_length(options, model),
                           options->copy_unknown ? "tokens" : "positions");
    return ROTARY_OK;
}

static struct search_config plan_search(const struct invocation *invocation, const struct loaded_model *model)
{
    const struct translate_options *options = invocation->options;
    const struct option_integer *seed = &invocation->common.seed;
    const struct special_tokens special = tokenizer_special(task_tokenizer(model->task));
    struct search_config config;
    search_config_default(&config);
    config.max_new_tokens = given_or(options->max_length, max_length(options, model));
    if (options->max_length.given)
        config.length_factor = 0.0f;
    config.beams = beams_of(options);
    config.n_best = given_or(options->n_best, 1);
    config.length_penalty = options->length_penalty.given ? (float)options->length_penalty.value : 1.0f;
    config.begin = special.begin;
    config.end = special.end;
    config.padding = special.padding;
    config.unknown = options->copy_unknown ? -1 : special.unknown;
    config.temperature = (float)options->temperature.value;
    config.top_k = given_or(options->top_k, 0);
    config.seed = (uint64_t)(seed->given ? seed->value : model->config.train.seed);
    return config;
}

/* ---- Output. ---- */

/* A member that cannot be made prints nothing: what is there stays valid. */
static rotary_status print_json_line(const struct translation_batch *batch, int64_t line, rotary_error *error)
{
    int64_t number = batch->sources[line].number;
    json_t *outputs = json_array();
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < batch->search.n_best; i++) {
        char *text;
        double score;
        status = translation_batch_text(batch, line, i, &text, &score, error);
        if (status == ROTARY_OK && text)
            json_array_append_new(outputs,
                                  json_pack("{s:s, s:o}", "text", text, "score", file_json_number(score)));
        free(text);
    }
    if (status != ROTARY_OK) {
        json_decref(outputs);
        return status;
    }
    json_t *object = json_pack("{s:I, s:o}", "line", (json_int_t)number, "translations", outputs);
    if (object)
        fputs(number > 1 ? ",\n" : "\n", stdout);
    return result_print_json_member(object, error);
}

static rotary_status print_line(const struct invocation *invocation, const struct translation_batch *batch,
                                int64_t line, rotary_error *error)
{
    const struct translate_options *options = invocation->options;
    if (invocation->common.json)
        return print_json_line(batch, line, error);
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < batch->search.n_best; i++) {
        char *text;
        double score;
        status = translation_batch_text(batch, line, i, &text, &score, error);
        if (status != ROTARY_OK)
            return status;
        if (options->scores)
            printf("%.4f\t", score);
        puts(text ? text : "");
        free(text);
    }
    return status;
}

/* Prints what is translated, also of a batch that was interrupted, and lets it out. */
static rotary_status print_batch(const struct invocation *invocation, const struct translation_batch *batch,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t line = 0; status == ROTARY_OK && line < batch->done; line++)
        status = print_line(invocation, batch, line, error);
    if (status == ROTARY_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = rotary_fail(error, ROTARY_IO_ERROR, "cannot write the translations");
    return status;
}

/* ---- Input. ---- */

struct filter {
    const struct invocation *invocation;
    struct text_reader reader;
    struct translation_batch batch;
    struct progress progress;
    int64_t lines; /* translated */
    double begin;
    bool ended;
};

static bool is_interrupted(const struct filter *filter)
{
    return atomic_load_explicit(filter->invocation->interrupted, memory_order_relaxed);
}

/* Takes the lines that are there, at least one, for which it waits. */
static rotary_status read_batch(struct filter *filter, rotary_error *error)
{
    struct translation_batch *batch = &filter->batch;
    while (!text_reader_is_ready(&filter->reader, WAIT_MILLISECONDS))
        if (is_interrupted(filter))
            return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while waiting for lines");
    do {
        struct text_line line;
        rotary_status status = text_reader_next(&filter->reader, &line, error);
        if (status != ROTARY_OK)
            return status;
        filter->ended = !line.bytes;
        if (filter->ended)
            return ROTARY_OK;
        int64_t number = filter->reader.number, left_out;
        status = translation_batch_add(batch, &line, number, &left_out, error);
        if (status != ROTARY_OK)
            return status;
        if (left_out > 0)
            progress_note(&filter->progress,
                          "rotary: %s, line %lld: the last %lld tokens are left out, the model reads %lld",
                          filter->reader.input.path, (long long)number, (long long)left_out,
                          (long long)task_shape(batch->model->task).source_time - 1);
    } while (batch->count < batch->capacity && text_reader_is_ready(&filter->reader, 0));
    return ROTARY_OK;
}

static void show_progress(struct filter *filter)
{
    filter->lines += filter->batch.done;
    double seconds = rotary_clock() - filter->begin;
    progress_show(&filter->progress, "%lld lines, %.1f per second", (long long)filter->lines,
                  (double)filter->lines / (seconds > 0 ? seconds : 1.0));
}

/* Translates and prints what was read, also if reading on failed: all lines before the bad one come out. */
static rotary_status translate_batch(struct filter *filter, rotary_error *error)
{
    rotary_status read = read_batch(filter, error), status = ROTARY_OK, printed;
    rotary_error later = {0};
    if (filter->batch.count > 0)
        status = translation_batch_run(&filter->batch, read == ROTARY_OK ? error : &later);
    progress_end(&filter->progress);
    printed = print_batch(filter->invocation, &filter->batch, status == ROTARY_OK ? error : &later);
    show_progress(filter);
    translation_batch_clear(&filter->batch);
    return read != ROTARY_OK ? read : status != ROTARY_OK ? status : printed;
}

static rotary_status run_filter(struct filter *filter, rotary_error *error)
{
    const struct search_config *search = &filter->batch.search;
    bool json = filter->invocation->common.json;
    int64_t room = TOKENS_AT_ONCE / (search->n_best * search->max_new_tokens),
            lines = max_i64(min_i64(room, LINES_AT_ONCE), 1);
    rotary_status status = text_reader_open(&filter->reader, NULL, error);
    if (status != ROTARY_OK)
        return status;
    status = translation_batch_create(&filter->batch, lines, error);
    bool begun = status == ROTARY_OK && json;
    if (begun)
        printf("{\"translations\":[");
    while (status == ROTARY_OK && !filter->ended)
        status = translate_batch(filter, error);
    if (begun) /* also of lines that were not all translated */
        printf("],\"lines\":%lld}\n", (long long)filter->lines);
    progress_end(&filter->progress);
    translation_batch_free(&filter->batch);
    text_reader_close(&filter->reader);
    return status;
}

static rotary_status translate(const struct invocation *invocation, const struct loaded_model *model,
                               rotary_error *error)
{
    const struct translate_options *options = invocation->options;
    rotary_status status = check_model(options, model, invocation->operands.items[0], error);
    if (status != ROTARY_OK)
        return status;
    struct filter filter = {.invocation = invocation,
                            .batch = {.model = model,
                                      .search = plan_search(invocation, model),
                                      .copy_unknown = options->copy_unknown,
                                      .interrupted = invocation->interrupted},
                            .begin = rotary_clock()};
    progress_start(&filter.progress);
    /* What one types and reads on a terminal has no need of it. */
    filter.progress.terminal = filter.progress.terminal && !isatty(STDIN_FILENO);
    return run_filter(&filter, error);
}

/* "rope-1, roper-1, rope-2": the runs of a comparison, as many as there is room for. */
static void name_runs(const struct comparison_file *file, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < file->seed_count * file->arm_count; i++) {
        char run[RUN_NAME_BYTES], name[RUN_NAME_BYTES + 2];
        run_name(run, file->arms[i % file->arm_count].name, file->seeds[i / file->arm_count]);
        int length = snprintf(name, sizeof name, "%s%s", i > 0 ? ", " : "", run);
        if (used + (size_t)length >= bytes)
            return;
        memcpy(text + used, name, (size_t)length + 1);
        used += (size_t)length;
    }
}

/* The folder of a comparison has runs, and is none. */
static rotary_status refuse_comparison(const char *folder, rotary_error *error)
{
    struct comparison_file file;
    char runs[NAMES_BYTES];
    if (!comparison_file_exists(folder))
        return ROTARY_OK;
    rotary_status status = comparison_file_read(&file, folder, error);
    if (status != ROTARY_OK)
        return status;
    name_runs(&file, runs, sizeof runs);
    comparison_file_free(&file);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%.200s is the folder of a comparison, wanted one of its runs: %s", folder, runs);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct translate_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    const struct loaded_model_call call = {
        .folder = invocation->operands.items[0],
        .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
        .backend = plan_model_backend(&invocation->common),
        .need = TASK_TOKENIZERS,
        .batch = given_or(options->batch_size, DEFAULT_BATCH_SIZE),
        /* A step reads a token of each hypothesis; weights of attention are of a whole translation. */
        .time = options->copy_unknown ? 0 : beams_of(options)};
    struct loaded_model model;
    rotary_status status = refuse_comparison(call.folder, &error);
    if (status == ROTARY_OK)
        status = plan_open_model(&call, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = translate(invocation, &model, &error);
    loaded_model_close(&model);
    if (ferror(stdout))
        return EXIT_FAILED; /* main says why */
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_translate = {
    .name = "translate",
    .operands = "DIR",
    .summary = "translates lines of text",
    .more = "DIR is the folder of a run of the task translation. Every line of the standard input becomes a "
            "line of "
            "the output, as soon as it is translated; an empty line stays empty.",
    .example = "rotary translate runs/translation-quick-rope <lines.de >lines.en\n"
               "translates the lines of a file with beam search",
    .shared = {{temperature_option, 1, MEMBER(temperature)}, {checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = translate_table,
    .option_count = sizeof translate_table / sizeof translate_table[0],
    .options_size = sizeof(struct translate_options),
    .min_operands = 1,
    .max_operands = 1,
    .stopping = "stopping; the lines that are translated come out",
    .on_device = true,
    .run = run,
};
