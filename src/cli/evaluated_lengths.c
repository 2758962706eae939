/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/evaluated_lengths.h"

#include "base/fail.h"
#include "base/integer.h"
#include "cli/output/result.h"
#include "config/comma_list.h"
#include "file/file.h"
#include "file/print.h"
#include "model/encoding/model_encoding.h"
#include "report/chart/position_chart.h"
#include "score/proportion.h"
#include "score/token_scores.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(member) offsetof(struct length_options, member)
const struct setting length_option_rows[LENGTH_OPTION_ROWS] = {
    {"--evaluate-lengths", SETTING_TEXT, MEMBER(lengths), .metavar = "N,N,...",
     .help = "score sequences of so many tokens too, in which a problem stands last, or into which a text is "
             "cut: shorter or longer ones than a model was trained on"},
    {"--evaluate-scaling", SETTING_TEXT, MEMBER(scalings), .metavar = "A,B,...",
     .help = "with --evaluate-lengths, how rotations are scaled by length / trained length: none, linear, "
             "ntk, dynamic, yarn, llama3 or longrope (default: none)"},
    {"--evaluate-factors", SETTING_TEXT, MEMBER(factors), .metavar = "FILE",
     .help = "with --evaluate-scaling longrope, JSON with its short_factor and long_factor, alone or in the "
             "rope_scaling or rope_parameters of a configuration"},
};

enum { NAME_BYTES = 32 };

static rotary_status fail_lengths(const char *numbers, rotary_error *error)
{
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "--evaluate-lengths is \"%.80s\", wanted numbers of tokens from %d to %d, each once, such "
        "as 256,512,1024, at most %d",
        numbers, LENGTH_MIN, LENGTH_MAX, MAX_LENGTHS);
}

static rotary_status read_lengths(const char *numbers, int64_t lengths[MAX_LENGTHS], int *count,
                                  rotary_error *error)
{
    struct comma_item item;
    *count = 0;
    for (const char *rest = numbers; comma_list_next(&rest, &item);) {
        int64_t length;
        if (!isdigit((unsigned char)item.text[0]) || !comma_item_number(&item, &length) ||
            length < LENGTH_MIN || length > LENGTH_MAX || *count == MAX_LENGTHS)
            return fail_lengths(numbers, error);
        for (int i = 0; i < *count; i++)
            if (lengths[i] == length)
                return fail_lengths(numbers, error);
        lengths[(*count)++] = length;
    }
    return ROTARY_OK;
}

static rotary_status fail_scaling(const char *text, const char *name, rotary_error *error)
{
    char names[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "--evaluate-scaling is \"%.80s\", wanted %s, each once, separated by commas%s", text,
                       settings_names(length_scaling_names, names),
                       settings_hint(name, length_scaling_names, hint));
}

static rotary_status read_scalings(const char *text, enum length_scaling scalings[LENGTH_SCALINGS],
                                   int *count, rotary_error *error)
{
    bool given[LENGTH_SCALINGS] = {false};
    *count = 0;
    struct comma_item item;
    for (const char *rest = text; comma_list_next(&rest, &item);) {
        char name[NAME_BYTES];
        const int scaling = comma_item_find(&item, length_scaling_names);
        if (scaling < 0 || given[scaling])
            return fail_scaling(text, comma_item_copy(&item, name, sizeof name), error);
        given[scaling] = true;
        scalings[(*count)++] = (enum length_scaling)scaling;
    }
    return ROTARY_OK;
}

/* The object of a configuration that has the lists. */
static const json_t *find_factors(const json_t *object)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    for (int i = 0; i < 2; i++)
        if (json_is_object(json_object_get(object, keys[i])))
            return json_object_get(object, keys[i]);
    return object;
}

/* An object of their lists, which the caller releases. */
static rotary_status take_factors(const char *path, const json_t *object, json_t **factors,
                                  rotary_error *error)
{
    json_t *of_short = json_object_get(object, "short_factor"),
           *of_long = json_object_get(object, "long_factor");
    if (!json_is_array(of_short) || !json_is_array(of_long))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no lists \"short_factor\" and \"long_factor\": wanted those of longrope, "
                           "alone or in rope_scaling or rope_parameters",
                           path);
    *factors = json_pack("{s:O, s:O}", "short_factor", of_short, "long_factor", of_long);
    return *factors ? ROTARY_OK : rotary_fail_memory(error, "for the factors of %s", path);
}

/* The option names it; longrope wants it, and nothing else does. */
static rotary_status read_factors(const struct length_options *options, struct length_request *request,
                                  rotary_error *error)
{
    bool wanted = false;
    json_t *object;
    for (int i = 0; i < request->count; i++)
        wanted |= request->wanted[i].scaling == LENGTH_SCALING_LONGROPE;
    if (wanted != (options->factors != NULL))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: give both",
                           wanted
                               ? "--evaluate-scaling longrope has factors that are searched for each model, "
                                 "which --evaluate-factors names"
                               : "--evaluate-factors is about --evaluate-scaling longrope");
    if (!wanted)
        return ROTARY_OK;
    rotary_status status = file_read_json(options->factors, &object, error);
    if (status != ROTARY_OK)
        return status;
    status = take_factors(options->factors, find_factors(object), &request->factors, error);
    json_decref(object);
    return status;
}

static rotary_status check_wanted(const struct run_config *config, const struct length_request *request,
                                  struct length_wanted wanted, rotary_error *error)
{
    rotary_error inner = {0};
    const struct length_call call = {.config = config,
                                     .trained = request->trained,
                                     .length = wanted.length,
                                     .scaling = wanted.scaling,
                                     .factors = request->factors};
    rotary_status status = length_check(&call, &inner);
    return status == ROTARY_OK ? status : rotary_fail(error, status, "--evaluate-lengths: %s", inner.message);
}

rotary_status length_options_read(const struct length_options *options, const struct run_config *config,
                                  int64_t trained, struct length_request *request, rotary_error *error)
{
    int64_t lengths[MAX_LENGTHS];
    enum length_scaling scalings[LENGTH_SCALINGS];
    int length_count, scaling_count;
    *request = (struct length_request){.trained = trained};
    if (!options->lengths && (options->scalings || options->factors))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is about --evaluate-lengths: give both",
                           options->scalings ? "--evaluate-scaling" : "--evaluate-factors");
    if (!options->lengths)
        return ROTARY_OK;
    rotary_status status = read_lengths(options->lengths, lengths, &length_count, error);
    if (status == ROTARY_OK)
        status = read_scalings(options->scalings ? options->scalings : length_scaling_names[0], scalings,
                               &scaling_count, error);
    for (int i = 0; status == ROTARY_OK && i < length_count * scaling_count; i++)
        request->wanted[request->count++] =
            (struct length_wanted){lengths[i / scaling_count], scalings[i % scaling_count]};
    if (status == ROTARY_OK)
        status = read_factors(options, request, error);
    for (int i = 0; status == ROTARY_OK && i < request->count; i++) {
        struct length_wanted next = request->wanted[i];
        if (trained == 0)
            next.scaling = LENGTH_SCALING_NONE;
        status = check_wanted(config, request, next, error);
    }
    return status;
}

void evaluated_lengths_want(struct length_scores *lengths, const struct length_request *request)
{
    lengths->count = request->count;
    lengths->trained = request->trained;
    for (int i = 0; i < request->count; i++)
        lengths->items[i] = (struct length_score){.wanted = request->wanted[i]};
}

/* The share of problems solved and its interval, where there are problems. */
static void print_correct(const struct length_score *score)
{
    const struct evaluation *evaluation = &score->evaluation;
    if (!score->possible || evaluation->problems == 0) {
        printf("  %8s  %16s", "-", "-");
        return;
    }
    const struct proportion_interval interval = proportion_wilson(evaluation->correct, evaluation->problems);
    printf("  %7.1f%%  %5.1f to %6.1f%%", 100.0 * (double)evaluation->correct / (double)evaluation->problems,
           100.0 * interval.low, 100.0 * interval.high);
}

/* "     512  yarn           2". */
static void print_head(const struct length_score *score)
{
    printf("%8lld  %-8s  %6.4g", (long long)score->wanted.length, length_scaling_names[score->wanted.scaling],
           score->factor);
}

static void print_problems(const struct length_scores *lengths)
{
    printf("\nsequences of so many tokens, %lld in training; a problem stands last in one\n",
           (long long)lengths->trained);
    printf("%8s  %-8s  %6s  %8s  %16s  %6s\n", "tokens", "scaling", "factor", "correct", "95% interval",
           "loss");
    for (int i = 0; i < lengths->count; i++) {
        const struct length_score *score = &lengths->items[i];
        print_head(score);
        print_correct(score);
        if (score->possible)
            printf("  %6.4f\n", score->evaluation.loss);
        else
            printf("  %6s\n", "-");
    }
}

/* Without problems there is the loss alone. */
static void print_losses(const struct length_scores *lengths)
{
    printf("\nsequences of so many tokens, %lld in training\n", (long long)lengths->trained);
    printf("%8s  %-8s  %6s  %8s  %10s  %9s\n", "tokens", "scaling", "factor", "loss", "perplexity",
           "bits/byte");
    for (int i = 0; i < lengths->count; i++) {
        const struct length_score *score = &lengths->items[i];
        print_head(score);
        if (score->possible)
            printf("  %8.4f  %10.4g", score->evaluation.loss, exp(score->evaluation.loss));
        else
            printf("  %8s  %10s", "-", "-");
        if (score->evaluation.bits_per_byte > 0) /* of text whose bytes are known */
            printf("  %9.4f\n", score->evaluation.bits_per_byte);
        else
            printf("  %9s\n", "-");
    }
}

/* Lines of the table by position: each has some bins. */
enum { POSITION_LINES = 8 };

/* "  26.15", the perplexity of bins first ... end - 1; "-" without a token in them. */
static void print_bins(const struct position_losses *losses, int first, int end)
{
    struct token_sums sums = {0};
    for (int bin = first; bin < end; bin++) {
        sums.total += losses->bins[bin].total;
        sums.counted += losses->bins[bin].counted;
    }
    if (sums.counted > 0)
        printf("  %10.4g", token_scores(sums).perplexity);
    else
        printf("  %10s", "-");
}

/* A line for each eighth of the longest sequences, a column for each scaling. */
static void print_positions(const struct length_scores *lengths)
{
    int64_t longest = 0;
    for (int i = 0; i < lengths->count; i++)
        longest = max_i64(longest, lengths->items[i].evaluation.positions.length);
    if (longest == 0)
        return;
    printf("\nperplexity by position in sequences of %lld tokens\n%8s", (long long)longest, "from");
    for (int i = 0; i < lengths->count; i++)
        if (lengths->items[i].evaluation.positions.length == longest)
            printf("  %10s", length_scaling_names[lengths->items[i].wanted.scaling]);
    putchar('\n');
    const int bins = position_bins(longest);
    for (int line = 0; line < POSITION_LINES; line++) {
        const int first = line * bins / POSITION_LINES, end = (line + 1) * bins / POSITION_LINES;
        printf("%8lld", (long long)position_begin(longest, first));
        for (int i = 0; i < lengths->count; i++)
            if (lengths->items[i].evaluation.positions.length == longest)
                print_bins(&lengths->items[i].evaluation.positions, first, end);
        putchar('\n');
    }
}

void evaluated_lengths_print(const struct length_scores *lengths, const struct task *task)
{
    if (task_has_problems(task)) {
        print_problems(lengths);
        return;
    }
    print_losses(lengths);
    print_positions(lengths);
}

json_t *evaluated_lengths_json(const struct length_scores *lengths)
{
    json_t *list = json_array();
    for (int i = 0; i < lengths->count; i++) {
        const struct length_score *score = &lengths->items[i];
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:f, s:o}", "length", (json_int_t)score->wanted.length, "scaling",
                      length_scaling_names[score->wanted.scaling], "factor", score->factor, "evaluation",
                      score->possible ? result_evaluation_json(&score->evaluation) : json_null()));
    }
    return list;
}

rotary_status evaluated_lengths_csv(const struct length_scores *lengths, const struct run_config *config,
                                    enum csv_table table, rotary_error *error)
{
    const char *name = model_encoding_name(&config->model);
    struct record record = {.arm = (char *)(uintptr_t)name, .seed = config->train.seed};
    rotary_status status = length_scores_record(lengths, &record.lengths, error);
    if (status == ROTARY_OK)
        lengths_csv(stdout, &record, 1, table);
    record_lengths_free(&record.lengths);
    return status;
}

static rotary_status draw(const struct record_lengths *records, int64_t trained, const char *path,
                          rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    positions_picture(print.stream, records, trained);
    return print_replace(&print, path, error);
}

rotary_status evaluated_lengths_draw(const struct length_scores *lengths, const char *path,
                                     rotary_error *error)
{
    struct record_lengths records;
    rotary_status status = length_scores_record(lengths, &records, error);
    if (status == ROTARY_OK)
        status = draw(&records, lengths->trained, path, error);
    record_lengths_free(&records);
    return status;
}
