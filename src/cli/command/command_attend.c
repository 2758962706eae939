/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary attend: attention evaluated in double by its equation, and how far librotary's kernel is from it.
 */
#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/rotation_options.h"
#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "oracle/attend.h"

#include <stdio.h>
#include <string.h>

struct attend_options {
    struct rotation_options rotation;
    const char *query, *key, *value, *past_key, *past_value, *key_lengths, *key_positions, *mask, *sinks;
    const char *output, *weights, *scores, *present_key, *present_value;
    struct option_integer layout, heads, key_heads, stage, rotate;
    struct option_real scale, softcap;
    struct option_integer window, window_left, window_right, first_query;
    bool roper, key_is_value, unrotated, causal, pad_mask, additive_mask;
    const char *position;
    struct option_list assignments, parameters;
};

static const char *const stages[] = {"scaled", "capped", "masked", NULL}; /* of enum reference_stage */

#define MEMBER(member) offsetof(struct attend_options, member)
static const struct setting attend_table[] = {
    {"--query", SETTING_TEXT, MEMBER(query), .metavar = "FILE",
     .help = "[T, H, D] or [B, T, H, D], not rotated; or as --layout says"},
    {"--key", SETTING_TEXT, MEMBER(key), .metavar = "FILE",
     .help = "[S, G, D] or [B, S, G, D], not rotated; G divides H, and H / G query heads share a key head"},
    {"--value", SETTING_TEXT, MEMBER(value), .metavar = "FILE", .help = "[S, G, E] or [B, S, G, E]"},
    HEADS_LAYOUT_OPTION(struct attend_options, layout),
    {"--heads", SETTING_INTEGER, MEMBER(heads), .metavar = "N", .min = 1, .max = 1 << 20,
     .help = "with --layout flat, query heads"},
    {"--key-heads", SETTING_INTEGER, MEMBER(key_heads), .metavar = "N", .min = 1, .max = 1 << 20,
     .help = "with --layout flat, heads of keys and values (default: as many as query heads)"},
    {"--past-key", SETTING_TEXT, MEMBER(past_key), .metavar = "FILE",
     .help = "keys before those of --key, not rotated; with --layout flat: [B, G, P, D]. The first query "
             "then has the position of the first key of --key"},
    {"--past-value", SETTING_TEXT, MEMBER(past_value), .metavar = "FILE", .help = "their values"},
    {"--key-lengths", SETTING_TEXT, MEMBER(key_lengths), .metavar = "FILE",
     .help = "[B]: number of keys of each sequence; those after are padding. The last query has the position "
             "of the last of them (default: all S)"},
    {"--key-positions", SETTING_TEXT, MEMBER(key_positions), .metavar = "FILE",
     .help = "[S], whole numbers: the position of each key, as of a window's keys with compressed ones after "
             "them (DeepSeek-V4); wants --first-query (default: 0 ... S - 1)"},
    {"--output", SETTING_TEXT, MEMBER(output), .metavar = "FILE",
     .help = "where the result goes: [T, H, E] or [B, T, H, E], in the query's type"},
    {"--weights", SETTING_TEXT, MEMBER(weights), .metavar = "FILE",
     .help =
         "where the attention weights go: [H, T, S] or [B, H, T, S], in the query's type (default: nowhere)"},
    {"--scores", SETTING_TEXT, MEMBER(scores), .metavar = "FILE", .help = "where the scores go, likewise"},
    {"--stage", SETTING_CHOICE, MEMBER(stage), .metavar = "NAME", .choices = stages,
     .help = "which scores: scaled (by --scale), capped (by --softcap too), or masked (all, minus infinity "
             "where a key is masked) (default: masked)"},
    {"--present-key", SETTING_TEXT, MEMBER(present_key), .metavar = "FILE",
     .help = "where --past-key and --key, concatenated, go"},
    {"--present-value", SETTING_TEXT, MEMBER(present_value), .metavar = "FILE", .help = "likewise"},
    ROTATION_OPTIONS(
        "--rope",
        "rotate queries and keys: a model's config.json (see rotary help frequencies; default: no rotation)",
        struct attend_options, rotation),
    {"--roper", SETTING_BOOLEAN, MEMBER(roper),
     .help = "rotate values too, and the output by the inverse rotation (RoPER): --rotate qkvo"},
    {"--rotate", SETTING_CHOICE, MEMBER(rotate), .metavar = "LETTERS", .choices = rotate_names + 1,
     .help = "what rotates as --rope says: queries, keys, values and, inversely, the output, in this order. "
             "With qk, vo and qkvo the result depends on differences of positions alone, with others on "
             "positions themselves (default: qk)"},
    {"--key-is-value", SETTING_BOOLEAN, MEMBER(key_is_value),
     .help = "values are the keys, rotated as they are (DeepSeek-V4, with --roper); instead of --value"},
    {"--unrotated", SETTING_BOOLEAN, MEMBER(unrotated),
     .help = "the layer is one of the model's without rotation: queries are scaled as --rope says of these "
             "layers (Llama 4), and nothing rotates"},
    {"--position", SETTING_TEXT, MEMBER(position), .metavar = "NAME",
     .help =
         "position encoding: alibi, t5, kerple, fire, sandwich, shaw, transformer-xl or deberta; or rope, "
         "roper or xpos, which rotate as --rope says; or none (default: rope with --rope, none without)"},
    {"--parameter", SETTING_LIST, MEMBER(parameters), .metavar = "NAME=FILE",
     .help = "a parameter of a learned encoding, by the name and in the shape that it has in a model's "
             "checkpoint; given for each"},
    {"--set", SETTING_LIST, MEMBER(assignments), .metavar = "KEY=VALUE",
     .help = "a setting of the encoding, as in a model's configuration; may be given again (default: that of "
             "a model)"},
    {"--causal", SETTING_BOOLEAN, MEMBER(causal),
     .help = "a query attends to keys at its own position and before"},
    {"--window", SETTING_INTEGER, MEMBER(window), .metavar = "W", .min = 1, .max = 0x1p53,
     .help = "with --causal, only to the last W of these (default: all)"},
    {"--window-left", SETTING_INTEGER, MEMBER(window_left), .metavar = "N", .min = 0, .max = 0x1p53,
     .help = "a query attends to N positions before its own (default: all)"},
    {"--window-right", SETTING_INTEGER, MEMBER(window_right), .metavar = "N", .min = 0, .max = 0x1p53,
     .help = "a query attends to N positions after its own (default: all; with --causal: none)"},
    {"--mask", SETTING_TEXT, MEMBER(mask), .metavar = "FILE",
     .help = "added to the scores; or bool, true where a query attends to a key: [T, S], [H, T, S] or [B, H, "
             "T, S], each size that or 1"},
    {"--pad-mask", SETTING_BOOLEAN, MEMBER(pad_mask),
     .help = "a mask of fewer than S keys masks the keys after them"},
    {"--additive-mask", SETTING_BOOLEAN, MEMBER(additive_mask),
     .help = "a mask of zeros and ones that are no bools is added too (default: it is refused)"},
    {"--sinks", SETTING_TEXT, MEMBER(sinks), .metavar = "FILE",
     .help = "[H]: a logit of each head in the denominator of its softmax, whose value is 0 (gpt-oss)"},
    {"--scale", SETTING_REAL, MEMBER(scale), .metavar = "X", .min = -1e30, .max = 1e30,
     .help = "scores are multiplied by X (default: 1 / sqrt(D), of DeepSeek's two-part heads as --rope says, "
             "of Gemma 3n and 4, "
             "which do not divide, 1)"},
    {"--softcap", SETTING_REAL, MEMBER(softcap), .metavar = "X", .min = 0, .max = 1e30,
     .help = "scores become X tanh(score / X), before the mask is added (default: 0, they stay)"},
    {"--first-query", SETTING_INTEGER, MEMBER(first_query), .metavar = "N", .min = -0x1p40, .max = 0x1p40,
     .help = "position of the first query; keys are at 0 ... S - 1 (default: S - T, so that the last query "
             "is at the last key)"},
};

/* What --position and the options of rotations say of each other. */
static rotary_status check_position(const struct attend_options *options,
                                    const struct attend_position *position, rotary_error *error)
{
    const struct formula_encoding *encoding = position->encoding;
    if (!encoding)
        return ROTARY_OK;
    bool rotates = encoding->rotation != FORMULA_NO_ROTATION, rotation = options->rotation.config != NULL;
    if (rotates && !rotation)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--position %s wants --rope FILE, the rotation",
                           encoding->name);
    if (!rotates && options->key_positions && strcmp(encoding->name, "none") != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--position %s and --key-positions exclude each other", encoding->name);
    bool twice = options->roper || (options->rotate.given && encoding->rotation == FORMULA_ROTATES_VALUES);
    if (rotates != rotation || twice)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--position %s and %s exclude each other",
                           encoding->name,
                           options->roper ? "--roper"
                           : twice        ? "--rotate"
                                          : "--rope");
    return ROTARY_OK;
}

static rotary_status check_files(const struct attend_options *options, rotary_error *error)
{
    const struct {
        const char *name;
        bool given;
    } wanted[] = {{"--query", options->query != NULL},
                  {"--key", options->key != NULL},
                  {"--value", options->value || options->key_is_value},
                  {"--output", options->output != NULL}};
    const char *missing[sizeof wanted / sizeof wanted[0]];
    char lacking[64] = "";
    int count = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!wanted[i].given)
            missing[count++] = wanted[i].name;
    for (int i = 0; i < count; i++)
        snprintf(lacking + strlen(lacking), sizeof lacking - strlen(lacking), "%s%s",
                 i == 0           ? ""
                 : i == count - 1 ? " and "
                                  : ", ",
                 missing[i]);
    return count == 0 ? ROTARY_OK
                      : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                    "attend wants --query FILE, --key FILE, --value FILE and --output FILE; "
                                    "there is no %s",
                                    lacking);
}

static const char *wrong_options(const struct attend_options *options)
{
    bool flat = options->layout.value == HEADS_FLAT;
    if (options->key_is_value && (options->value || options->past_value || options->present_value))
        return options->value        ? "--key-is-value and --value exclude each other"
               : options->past_value ? "--key-is-value and --past-value exclude each other"
                                     : "--key-is-value and --present-value exclude each other";
    if (options->roper && !options->rotation.config)
        return "--roper wants --rope FILE, the rotation";
    if (options->rotate.given && !options->rotation.config)
        return "--rotate wants --rope FILE, the rotation";
    if (!options->rotation.config && rotation_options_given(&options->rotation))
        return "--layer-type, --ignore, --length and --compat want --rope FILE, whose rotation they are "
               "about";
    if (options->rotate.given && options->roper)
        return "--rotate and --roper exclude each other";
    if (options->unrotated && !options->rotation.config)
        return "--unrotated wants --rope FILE, the model's config.json";
    if (options->unrotated && options->roper)
        return "--unrotated and --roper exclude each other";
    if (options->unrotated && options->rotate.given)
        return "--unrotated and --rotate exclude each other";
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
    if (!options->past_key != !options->past_value && !options->key_is_value)
        return "--past-key and --past-value want each other";
    if (options->past_key && options->key_lengths)
        return "--past-key and --key-lengths exclude each other";
    if (options->key_positions && (options->past_key || options->key_lengths))
        return options->past_key ? "--key-positions and --past-key exclude each other"
                                 : "--key-positions and --key-lengths exclude each other";
    if (options->key_positions && !options->first_query.given)
        return "--key-positions wants --first-query N";
    if (options->stage.given && !options->scores)
        return "--stage wants --scores FILE";
    if (options->pad_mask && !options->mask)
        return "--pad-mask wants --mask FILE";
    if (options->additive_mask && !options->mask)
        return "--additive-mask wants --mask FILE";
    return NULL;
}

static struct attend_config make_config(const struct invocation *invocation)
{
    const struct attend_options *options = invocation->options;
    const struct common_options *common = &invocation->common;
    struct attend_config config = {
        .rotation = rotation_request(&options->rotation, common),
        .rotate = options->rotate.given ? (unsigned)options->rotate.value + 1 : ROTATE_QUERY_KEY,
        .key_is_value = options->key_is_value,
        .query = options->query,
        .key = options->key,
        .value = options->value,
        .past_key = options->past_key,
        .past_value = options->past_value,
        .key_lengths = options->key_lengths,
        .key_positions = options->key_positions,
        .mask = options->mask,
        .sinks = options->sinks,
        .output = options->output,
        .weights = options->weights,
        .scores = options->scores,
        .present_key = options->present_key,
        .present_value = options->present_value,
        .layout = (enum heads_layout)options->layout.value,
        .heads = options->heads.value,
        .key_heads = options->key_heads.given ? options->key_heads.value : options->heads.value,
        .stage = options->stage.given ? (enum reference_stage)options->stage.value : REFERENCE_MASKED,
        .scale = options->scale.given ? &options->scale.value : NULL,
        .softcap = options->softcap.value,
        .before = -1,
        .after = -1,
        .first_query = options->first_query.given ? &options->first_query.value : NULL,
        .pad_mask = options->pad_mask,
        .additive_mask = options->additive_mask,
        .run_kernel = common->json,
        .threads = (int)common->threads.value,
        .isa = (rotary_isa)common->isa.value,
    };
    config.rotation.scales_queries = config.rotation.attends = true;
    config.rotation.unrotated = options->unrotated;
    if (options->window.given)
        config.before = options->window.value - 1;
    else if (options->window_left.given)
        config.before = options->window_left.value;
    if (options->causal)
        config.after = 0;
    else if (options->window_right.given)
        config.after = options->window_right.value;
    return config;
}

/* ---- the result ---- */

static json_t *kernel_json(const struct attend_config *config, const struct attend_kernel_result *kernel)
{
    if (!kernel->ran)
        return json_pack("{s:n, s:s}", "largest_difference", "reason", kernel->reason.message);
    rotary_isa isa = config->isa == ROTARY_ISA_AUTO ? rotary_isa_best() : config->isa;
    json_t *object =
        json_pack("{s:o, s:o, s:s, s:s}", "largest_difference", file_json_number(kernel->largest_difference),
                  "largest_output", file_json_number(kernel->largest_output), "type", "f32", "isa",
                  rotary_isa_name(isa));
    if (object && kernel->reason.message[0]) /* the largest difference is not finite */
        json_object_set_new(object, "reason", json_string(kernel->reason.message));
    return object;
}

static rotary_status print_json(const struct attend_config *config, const struct attend_work *work,
                                rotary_error *error)
{
    const struct tensor *output = &work->output.tensor;
    json_t *object = json_pack(
        "{s:s, s:o, s:s, s:f, s:I, s:I, s:o}", "output", output->label, "shape", result_shape(output), "type",
        tensor_type_name(output->type), "scale", work->attention.scale, "first_query",
        (json_int_t)work->attention.sequences[0].first_query, "fully_masked_rows",
        (json_int_t)work->masked_rows, "librotary", kernel_json(config, &work->kernel));
    return result_print_json(object, error);
}

static void print_text(const struct attend_work *work)
{
    char shape[SHAPE_TEXT_BYTES];
    const struct tensor *output = &work->output.tensor;
    printf("%s: %s %s", output->label, tensor_shape_text(output, shape), tensor_type_name(output->type));
    if (work->masked_rows > 0)
        printf("; %lld rows are 0: their queries are fully masked", (long long)work->masked_rows);
    putchar('\n');
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    const struct attend_options *options = invocation->options;
    rotary_status status = check_files(options, &error);
    const char *wrong = wrong_options(options);
    struct attend_config config = make_config(invocation);
    const struct attend_position_words words = {options->position, options->assignments.items,
                                                options->parameters.items};
    if (!status)
        status = wrong ? rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "%s", wrong)
                       : attend_position_parse(&words, &config.position, &error);
    if (!status)
        status = check_position(options, &config.position, &error);
    const struct formula_encoding *encoding = config.position.encoding;
    if (options->roper || (encoding && encoding->rotation == FORMULA_ROTATES_VALUES))
        config.rotate = ROTATE_ALL;
    if (!status)
        status = attend_check_outputs(&config, &error);
    if (status)
        return command_refuse(invocation, &error);
    struct attend_work work = {0};
    status = attend_run(&config, &work, &error);
    if (!status && invocation->common.json)
        status = print_json(&config, &work, &error);
    else if (!status)
        print_text(&work);
    attend_free(&work);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_attend = {
    .name = "attend",
    .operands = "",
    .summary = "evaluates attention exactly, with position encodings, masks and grouped queries",
    .more = "The equation is evaluated in double, one score after another: slow, but exact numbers to check "
            "an implementation with. With --json the result has the largest difference of librotary's kernel "
            "from them. A fully masked query gets zeros. Files are .npy, or safetensors files with the "
            "tensor's name after a colon if there are several (cache.safetensors:layers.0.key).",
    .example =
        "rotary attend --query q.npy --key k.npy --value v.npy --rope config.json --causal --output o.npy\n"
        "attention of one layer of a model with that configuration; with queries of length 1, a decode step "
        "over a cache of S keys",
    .options = attend_table,
    .option_count = sizeof attend_table / sizeof attend_table[0],
    .options_size = sizeof(struct attend_options),
    .run = run,
};
