/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary attend: attention evaluated in double by its equation, and how far librotary's kernel is from it.
 */
#include "base/fail.h"
#include "cli/attend.h"
#include "cli/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stages[] = {"scaled", "capped", "masked", NULL}; /* of enum reference_stage */

#define MEMBER(member) offsetof(struct attend_options, member)
static const struct option attend_table[] = {
    {"--query", OPTION_TEXT, "FILE", MEMBER(query),
     .help = "[T, H, D] or [B, T, H, D], not turned; or as --layout says"},
    {"--key", OPTION_TEXT, "FILE", MEMBER(key),
     .help = "[S, G, D] or [B, S, G, D], not turned; G divides H, and H / G query heads share a key head"},
    {"--value", OPTION_TEXT, "FILE", MEMBER(value), .help = "[S, G, E] or [B, S, G, E]"},
    HEADS_LAYOUT_OPTION(struct attend_options, layout),
    {"--heads", OPTION_INTEGER, "N", MEMBER(heads), .min = 1, .max = 1 << 20,
     .help = "with --layout flat, query heads"},
    {"--key-heads", OPTION_INTEGER, "N", MEMBER(key_heads), .min = 1, .max = 1 << 20,
     .help = "with --layout flat, heads of keys and values (default: as many as query heads)"},
    {"--past-key", OPTION_TEXT, "FILE", MEMBER(past_key),
     .help = "keys that stand before those of --key, not turned; with --layout flat: [B, G, P, D]. The first "
             "query then stands with the first key of --key"},
    {"--past-value", OPTION_TEXT, "FILE", MEMBER(past_value), .help = "their values"},
    {"--key-lengths", OPTION_TEXT, "FILE", MEMBER(key_lengths),
     .help = "[B]: how many of its keys each sequence has; those behind are filling. The last query stands "
             "with the last of them (default: all S)"},
    {"--output", OPTION_TEXT, "FILE", MEMBER(output),
     .help = "where the result goes: [T, H, E] or [B, T, H, E], in the query's type"},
    {"--weights", OPTION_TEXT, "FILE", MEMBER(weights),
     .help =
         "where the softmax's weights go: [H, T, S] or [B, H, T, S], in the query's type (default: nowhere)"},
    {"--scores", OPTION_TEXT, "FILE", MEMBER(scores), .help = "where the scores go, likewise"},
    {"--stage", OPTION_CHOICE, "NAME", MEMBER(stage), .choices = stages,
     .help = "which scores: scaled (by --scale), capped (by --softcap too), or masked (all, minus infinity "
             "where a query does not see a key) (default: masked)"},
    {"--present-key", OPTION_TEXT, "FILE", MEMBER(present_key),
     .help = "where --past-key and --key, one behind the other, go"},
    {"--present-value", OPTION_TEXT, "FILE", MEMBER(present_value), .help = "likewise"},
    ROTATION_OPTIONS(
        "--rope",
        "turn queries and keys: a model's config.json (see rotary help frequencies; default: no turn)",
        struct attend_options, rotation),
    {"--roper", OPTION_FLAG, NULL, MEMBER(roper), .help = "turn values too, and the output back (RoPER)"},
    {"--causal", OPTION_FLAG, NULL, MEMBER(causal),
     .help = "a query sees keys at its own position and before"},
    {"--window", OPTION_INTEGER, "W", MEMBER(window), .min = 1, .max = 0x1p53,
     .help = "with --causal, of these the last W only (default: all)"},
    {"--window-left", OPTION_INTEGER, "N", MEMBER(window_left), .min = 0, .max = 0x1p53,
     .help = "a query sees N positions before its own (default: all)"},
    {"--window-right", OPTION_INTEGER, "N", MEMBER(window_right), .min = 0, .max = 0x1p53,
     .help = "a query sees N positions behind its own (default: all; with --causal: none)"},
    {"--mask", OPTION_TEXT, "FILE", MEMBER(mask),
     .help = "added to the scores; or bool, true where a query sees a key: [T, S], [H, T, S] or [B, H, T, "
             "S], each size that or 1"},
    {"--pad-mask", OPTION_FLAG, NULL, MEMBER(pad_mask),
     .help = "a mask of fewer than S keys hides the keys behind"},
    {"--scale", OPTION_REAL, "X", MEMBER(scale), .min = -1e30, .max = 1e30,
     .help = "scores are multiplied by X (default: 1 / sqrt(D))"},
    {"--softcap", OPTION_REAL, "X", MEMBER(softcap), .min = 0, .max = 1e30,
     .help = "scores become X tanh(score / X), before the mask is added (default: 0, they stay)"},
    {"--first-query", OPTION_INTEGER, "N", MEMBER(first_query), .min = -0x1p40, .max = 0x1p40,
     .help = "position of the first query; keys stand at 0 ... S - 1 (default: S - T, so that the last query "
             "stands with the last key)"},
};

/* [H, T, S] or [B, H, T, S], if it is asked for. */
static rotary_status make_matrix(const char *label, const struct attend_work *work, struct tensor *matrix,
                                 rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    const int64_t shape[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
    int skipped = work->query.batched ? 0 : 1;
    return label ? tensor_make(label, work->query.tensor.type, shape + skipped, 4 - skipped, matrix, error)
                 : ROTARY_OK;
}

static rotary_status make_results(const struct attend_options *options, struct attend_work *work,
                                  rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    rotary_status status = heads_make(options->output, &work->query, attention->queries, attention->heads,
                                      attention->value_dim, &work->output, error);
    if (!status)
        status = make_matrix(options->weights, work, &work->weights, error);
    if (!status)
        status = make_matrix(options->scores, work, &work->scores, error);
    return status;
}

static rotary_status make_rotation(const struct attend_options *options, const struct invocation *invocation,
                                   struct attend_work *work, rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    if (!options->rotation.config)
        return ROTARY_OK;
    if (options->roper && attention->value_dim != attention->head_dim)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has heads of %lld channels, wanted %lld, as %s has, because --roper turns both",
            options->value, (long long)attention->value_dim, (long long)attention->head_dim, options->query);
    return rotation_make(&options->rotation, &invocation->common, attention->head_dim, &work->rotation,
                         error);
}

/* How far the kernel's result, f32, is from the evaluated one. */
static json_t *describe_kernel(const struct invocation *invocation, const struct attend_work *work,
                               const float *kernel, const rotary_error *wrong)
{
    if (!kernel)
        return json_pack("{s:n, s:s}", "largest_difference", "reason", wrong->message);
    const double *wanted = work->output.tensor.values;
    double largest = 0, size = 0;
    for (int64_t i = 0; i < work->output.tensor.elements; i++) {
        double difference = fabs((double)kernel[i] - wanted[i]);
        largest = difference <= largest ? largest : difference; /* a NaN stays */
        size = fmax(size, fabs(wanted[i]));
    }
    rotary_isa isa = (rotary_isa)invocation->common.isa.value;
    return json_pack("{s:o, s:o, s:s, s:s}", "largest_difference", result_number(largest), "largest_output",
                     result_number(size), "type", "f32", "isa",
                     rotary_isa_name(isa == ROTARY_ISA_AUTO ? rotary_isa_best() : isa));
}

/* ---- evaluating ---- */

/* Turns [batch, time, heads, head_dim] as `role`: queries and what was made of them where they stand, keys
 * and values from 0 on. */
static rotary_status turn(const struct attend_work *work, enum rotary_rope_role role, bool inverse,
                          bool queries, double *values, rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    int64_t time = queries ? attention->queries : attention->keys;
    int64_t heads = queries ? attention->heads : attention->key_value_heads;
    rotary_status status = ROTARY_OK;
    for (int64_t b = 0; !status && b < attention->batch; b++)
        status =
            rotation_apply(&work->rotation, role, inverse, queries ? attention->sequences[b].first_query : 0,
                           time, heads, values + b * time * heads * attention->head_dim, error);
    return status;
}

static rotary_status evaluate(const struct attend_options *options, struct attend_work *work,
                              rotary_error *error)
{
    struct reference_attention *attention = &work->attention;
    attention->query = work->query.tensor.values;
    attention->key = work->key.tensor.values;
    attention->value = work->value.tensor.values;
    attention->output = work->output.tensor.values;
    attention->weights = work->weights.values;
    attention->scores = work->scores.values;
    bool turns = work->rotation.rope != NULL;
    rotary_status status = ROTARY_OK;
    if (turns)
        status = turn(work, ROTARY_ROLE_QUERY, false, true, work->query.tensor.values, error);
    if (turns && !status)
        status = turn(work, ROTARY_ROLE_KEY, false, false, work->key.tensor.values, error);
    if (options->roper && !status)
        status = turn(work, ROTARY_ROLE_VALUE, false, false, work->value.tensor.values, error);
    if (!status)
        status = reference_attention_run(attention, &work->blind, error);
    if (options->roper && !status)
        status = turn(work, ROTARY_ROLE_VALUE, true, true, work->output.tensor.values, error);
    return status;
}

/* ---- the command ---- */

static rotary_status print_result(const struct invocation *invocation, const struct attend_work *work,
                                  const float *kernel, const rotary_error *wrong, rotary_error *error)
{
    char shape[SHAPE_TEXT_BYTES];
    const struct tensor *output = &work->output.tensor;
    const struct reference_attention *attention = &work->attention;
    if (!invocation->common.json) {
        printf("%s: %s %s", output->label, tensor_shape_text(output, shape), tensor_type_name(output->type));
        if (work->blind > 0)
            printf("; %lld rows are 0, because their query sees no key", (long long)work->blind);
        putchar('\n');
        return ROTARY_OK;
    }
    return result_print_json(json_pack("{s:s, s:o, s:s, s:f, s:I, s:I, s:o}", "output", output->label,
                                       "shape", tensor_shape_json(output), "type",
                                       tensor_type_name(output->type), "scale", attention->scale,
                                       "first_query", (json_int_t)attention->sequences[0].first_query,
                                       "rows_without_keys", (json_int_t)work->blind, "librotary",
                                       describe_kernel(invocation, work, kernel, wrong)),
                             error);
}

static const char *wrong_options(const struct attend_options *options)
{
    bool flat = options->layout.value == HEADS_FLAT;
    if (!options->query || !options->key || !options->value || !options->output)
        return "attend wants --query FILE, --key FILE, --value FILE and --output FILE";
    if (options->roper && !options->rotation.config)
        return "--roper wants --rope FILE, which says how to turn";
    if (options->window.given && !options->causal)
        return "--window wants --causal";
    if (options->window.given && options->window_left.given)
        return "--window and --window-left exclude each other";
    if (options->causal && options->window_right.given)
        return "--causal and --window-right exclude each other";
    if (flat != options->heads.given)
        return flat ? "--layout flat wants --heads N" : "--heads wants --layout flat";
    if (options->key_heads.given && !flat)
        return "--key-heads wants --layout flat";
    if (!options->past_key != !options->past_value)
        return "--past-key and --past-value want each other";
    if (options->past_key && options->key_lengths)
        return "--past-key and --key-lengths exclude each other";
    if (options->stage.given && !options->scores)
        return "--stage wants --scores FILE";
    if (options->pad_mask && !options->mask)
        return "--pad-mask wants --mask FILE";
    return NULL;
}

static rotary_status check_options(const struct attend_options *options, rotary_error *error)
{
    const char *const outputs[] = {options->output, options->weights, options->scores, options->present_key,
                                   options->present_value};
    const char *wrong = wrong_options(options);
    rotary_status status = wrong ? rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong) : ROTARY_OK;
    for (size_t i = 0; !status && i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i])
            status = tensor_check_output(outputs[i], error);
    for (size_t i = 0; !status && i < sizeof outputs / sizeof *outputs; i++)
        for (size_t j = 0; !status && j < i; j++)
            if (outputs[i] && outputs[j] && tensor_same_file(outputs[i], outputs[j]))
                status =
                    rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                "two results would go to \"%.200s\", wanted a file for each", outputs[i]);
    return status;
}

/* Keys or values as they were read, in the layout of what stands before them. */
static rotary_status write_present(const char *label, const struct heads *heads, rotary_error *error)
{
    struct heads written = *heads;
    written.tensor.label = label;
    if (written.layout == HEADS_FLAT)
        heads_lay_out(&written, HEADS_BEFORE_TIME);
    return label ? heads_write(&written, error) : ROTARY_OK;
}

static rotary_status write_results(const struct attend_work *work, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (work->weights.values)
        status = tensor_write(&work->weights, error);
    if (!status && work->scores.values)
        status = tensor_write(&work->scores, error);
    return status ? status : heads_write(&work->output, error);
}

static rotary_status attend(const struct invocation *invocation, struct attend_work *work, float **kernel,
                            rotary_error *error)
{
    const struct attend_options *options = invocation->options;
    rotary_error wrong = {0};
    rotary_status status = attend_read(options, work, error);
    if (!status)
        status = make_rotation(options, invocation, work, error);
    if (!status)
        status = make_results(options, work, error);
    if (!status && invocation->common.json)
        (void)!attend_kernel(options, &invocation->common, work, kernel, &wrong);
    if (!status)
        status = write_present(options->present_key, &work->key, error);
    if (!status)
        status = write_present(options->present_value, &work->value, error);
    if (!status)
        status = evaluate(options, work, error);
    if (!status)
        status = write_results(work, error);
    return status ? status : print_result(invocation, work, *kernel, &wrong, error);
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    if (check_options(invocation->options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct attend_work work = {0};
    float *kernel = NULL;
    rotary_status status = attend(invocation, &work, &kernel, &error);
    free(kernel);
    free(work.sequences);
    rotation_destroy(&work.rotation);
    tensor_free(&work.scores);
    tensor_free(&work.weights);
    tensor_free(&work.mask);
    heads_free(&work.output);
    heads_free(&work.value);
    heads_free(&work.key);
    heads_free(&work.query);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_attend = {
    .name = "attend",
    .operands = "",
    .summary = "evaluates attention exactly, with RoPE, RoPER, masks and grouped queries",
    .more =
        "The equation is evaluated in double, one score after another: numbers to check an implementation "
        "with, not a fast way to have them. With --json the result says how far librotary's own kernel is "
        "from them. A query that sees no key gets zeros. Files are .npy, or safetensors files with the "
        "tensor's name behind a colon if there are several (cache.safetensors:layers.0.key).",
    .example =
        "rotary attend --query q.npy --key k.npy --value v.npy --rope config.json --causal --output o.npy\n"
        "what one layer of a model with that configuration attends to; a query of length 1 is a step of "
        "decoding over a cache of S keys",
    .options = attend_table,
    .option_count = sizeof attend_table / sizeof attend_table[0],
    .options_size = sizeof(struct attend_options),
    .run = run,
};
