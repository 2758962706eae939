/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/evaluated_lengths.h"

#include "base/fail.h"
#include "cli/result.h"
#include "score/proportion.h"

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
             "ntk, dynamic, yarn or llama3 (default: none)"},
};

enum { MIN_LENGTH = 16, MAX_LENGTH = 1 << 20, NAME_BYTES = 32 }; /* as sequence_length */

static rotary_status fail_lengths(const char *numbers, rotary_error *error)
{
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "--evaluate-lengths is \"%.80s\", wanted numbers of tokens from %d to %d, each once, such "
        "as 256,512,1024, at most %d",
        numbers, MIN_LENGTH, MAX_LENGTH, MAX_LENGTHS);
}

static rotary_status read_lengths(const char *numbers, int64_t lengths[MAX_LENGTHS], int *count,
                                  rotary_error *error)
{
    *count = 0;
    for (const char *next = numbers;; next++) {
        char *end;
        const int64_t length = isdigit((unsigned char)*next) ? strtoll(next, &end, 10) : 0;
        if (length < MIN_LENGTH || length > MAX_LENGTH || *count == MAX_LENGTHS)
            return fail_lengths(numbers, error);
        for (int i = 0; i < *count; i++)
            if (lengths[i] == length)
                return fail_lengths(numbers, error);
        lengths[(*count)++] = length;
        next = end;
        if (*next == 0)
            return ROTARY_OK;
        if (*next != ',')
            return fail_lengths(numbers, error);
    }
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
    for (const char *next = text;; next++) {
        char name[NAME_BYTES];
        const int bytes = (int)strcspn(next, ",");
        snprintf(name, sizeof name, "%.*s", bytes, next);
        int scaling = 0;
        while (scaling < LENGTH_SCALINGS && strcmp(name, length_scaling_names[scaling]) != 0)
            scaling++;
        if (scaling == LENGTH_SCALINGS || given[scaling])
            return fail_scaling(text, name, error);
        given[scaling] = true;
        scalings[(*count)++] = (enum length_scaling)scaling;
        next += bytes;
        if (*next == 0)
            return ROTARY_OK;
    }
}

static rotary_status check_wanted(const struct run_config *config, int64_t length,
                                  enum length_scaling scaling, rotary_error *error)
{
    rotary_error inner = {0};
    rotary_status status = length_check(config, length, scaling, &inner);
    return status == ROTARY_OK ? status : rotary_fail(error, status, "--evaluate-lengths: %s", inner.message);
}

rotary_status length_options_read(const struct length_options *options, const struct run_config *config,
                                  bool of_run, struct length_wanted wanted[MAX_WANTED], int *count,
                                  rotary_error *error)
{
    int64_t lengths[MAX_LENGTHS];
    enum length_scaling scalings[LENGTH_SCALINGS];
    int length_count, scaling_count;
    *count = 0;
    if (!options->lengths && options->scalings)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--evaluate-scaling is about --evaluate-lengths: give both");
    if (!options->lengths)
        return ROTARY_OK;
    rotary_status status = read_lengths(options->lengths, lengths, &length_count, error);
    if (status == ROTARY_OK)
        status = read_scalings(options->scalings ? options->scalings : length_scaling_names[0], scalings,
                               &scaling_count, error);
    for (int i = 0; status == ROTARY_OK && i < length_count * scaling_count; i++) {
        const struct length_wanted next = {lengths[i / scaling_count], scalings[i % scaling_count]};
        wanted[(*count)++] = next;
        status = check_wanted(config, next.length, of_run ? next.scaling : LENGTH_SCALING_NONE, error);
    }
    return status;
}

void evaluated_lengths_want(struct evaluated_lengths *lengths, const struct length_wanted *wanted, int count)
{
    lengths->count = count;
    for (int i = 0; i < count; i++)
        lengths->scores[i] =
            (struct evaluated_length){.length = wanted[i].length, .scaling = wanted[i].scaling};
}

rotary_status evaluated_lengths_run(struct evaluated_lengths *lengths, const struct length_call *call,
                                    rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < lengths->count; i++) {
        struct evaluated_length *score = &lengths->scores[i];
        struct length_call one = *call;
        one.length = score->length;
        one.scaling = score->scaling;
        score->factor = length_factor(&one);
        score->possible = length_is_possible(&one);
        if (score->possible)
            status = length_evaluate(&one, &score->evaluation, error);
    }
    return status;
}

/* The share of problems solved and its interval, where there are problems. */
static void print_correct(const struct evaluated_length *score)
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

/* Without problems there is the loss alone. */
static void print_losses(const struct evaluated_lengths *lengths, int64_t trained)
{
    printf("\nsequences of so many tokens, %lld in training\n", (long long)trained);
    printf("%8s  %-8s  %6s  %8s  %10s\n", "tokens", "scaling", "factor", "loss", "perplexity");
    for (int i = 0; i < lengths->count; i++) {
        const struct evaluated_length *score = &lengths->scores[i];
        printf("%8lld  %-8s  %6.4g", (long long)score->length, length_scaling_names[score->scaling],
               score->factor);
        if (score->possible)
            printf("  %8.4f  %10.4g\n", score->evaluation.loss, exp(score->evaluation.loss));
        else
            printf("  %8s  %10s\n", "-", "-");
    }
}

void evaluated_lengths_print(const struct evaluated_lengths *lengths, int64_t trained)
{
    int64_t problems = 0;
    bool is_scored = false;
    for (int i = 0; i < lengths->count; i++) {
        problems += lengths->scores[i].evaluation.problems;
        is_scored |= lengths->scores[i].possible;
    }
    if (is_scored && problems == 0) {
        print_losses(lengths, trained);
        return;
    }
    printf("\nsequences of so many tokens, %lld in training; a problem stands last in one\n",
           (long long)trained);
    printf("%8s  %-8s  %6s  %8s  %16s  %6s\n", "tokens", "scaling", "factor", "correct", "95% interval",
           "loss");
    for (int i = 0; i < lengths->count; i++) {
        const struct evaluated_length *score = &lengths->scores[i];
        printf("%8lld  %-8s  %6.4g", (long long)score->length, length_scaling_names[score->scaling],
               score->factor);
        print_correct(score);
        if (score->possible)
            printf("  %6.4f\n", score->evaluation.loss);
        else
            printf("  %6s\n", "-");
    }
}

json_t *evaluated_lengths_json(const struct evaluated_lengths *lengths)
{
    json_t *list = json_array();
    for (int i = 0; i < lengths->count; i++) {
        const struct evaluated_length *score = &lengths->scores[i];
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:f, s:o}", "length", (json_int_t)score->length, "scaling",
                            length_scaling_names[score->scaling], "factor", score->factor, "evaluation",
                            score->possible ? result_evaluation_json(&score->evaluation) : json_null()));
    }
    return list;
}
