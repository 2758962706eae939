/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary permute: moves the rows of query and key projections from one pairing to the other, or detects the
 * pairing they were trained in.
 */
#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/rotation_options.h"
#include "file/file.h"
#include "oracle/detect_model.h"
#include "oracle/permute_weights.h"

#include <stdio.h>

struct permute_options {
    struct rotation_options rotation;
    const char *input, *output;
    struct option_integer to, fused;
    struct option_list tensors;
    bool detect;
};

#define MEMBER(member) offsetof(struct permute_options, member)
static const struct setting permute_table[] = {
    ROTATION_OPTIONS("--config", "of the model: its head_dim and rotated channels; \"pairing\" is not read",
                     struct permute_options, rotation),
    {"--input", SETTING_TEXT, MEMBER(input), .metavar = "FILE",
     .help = "a weight [heads * D, inputs] or a bias [heads * D] in .npy, or a model in safetensors"},
    {"--output", SETTING_TEXT, MEMBER(output), .metavar = "FILE",
     .help = "where the result goes, of the same kind; not the input"},
    {"--to", SETTING_CHOICE, MEMBER(to), .metavar = "NAME", .choices = rope_config_pairings,
     .help = "the pairing that is wanted, half or interleaved; the input has the other one"},
    {"--tensor", SETTING_LIST, MEMBER(tensors), .metavar = "PATTERN",
     .help = "in safetensors, a tensor to permute, * standing for any text; may be given again (default: "
             "*.q_proj.*, *.k_proj.*, *.q_norm.*, *.k_norm.*, Meta's *.attention.wq.weight and wk; with "
             "--fused *.qkv_proj.*, *.query_key_value.*, *.Wqkv.*)"},
    {"--fused", SETTING_CHOICE, MEMBER(fused), .metavar = "LAYOUT", .choices = fused_names,
     .help = "queries, keys and values are rows of one matrix: stacked, all query heads, then all key heads, "
             "then all value heads (Phi-3), or grouped, the query heads of a key head, that head, its value "
             "head, and so on (GPT-NeoX, Falcon); value rows stay (default: each has a matrix of its own)"},
    {"--detect", SETTING_BOOLEAN, MEMBER(detect),
     .help = "write nothing, but print for each layer of --input, a safetensors file, and for all of them "
             "together, which pairing they were trained in"},
};

static rotary_status check_options(const struct permute_options *options, rotary_error *error)
{
    const char *wrong = NULL;
    bool detect = options->detect;
    if (detect && (!options->rotation.config || !options->input || options->output || options->to.given))
        wrong = "permute --detect wants --config FILE and --input FILE, and neither --output nor --to";
    else if (!detect &&
             (!options->rotation.config || !options->input || !options->output || !options->to.given))
        wrong = "permute wants --config FILE, --input FILE, --output FILE and --to half or interleaved";
    else if (detect && !tensor_name_ends_in(options->input, ".safetensors"))
        wrong = "permute --detect wants --input to end in .safetensors";
    else if (!detect &&
             !(tensor_name_ends_in(options->input, ".npy") && tensor_name_ends_in(options->output, ".npy")) &&
             !(tensor_name_ends_in(options->input, ".safetensors") &&
               tensor_name_ends_in(options->output, ".safetensors")))
        wrong = "--input and --output want files of one kind, both .npy or both .safetensors";
    else if (options->tensors.count > 0 && tensor_name_ends_in(options->input, ".npy"))
        wrong = "--tensor wants safetensors files: a .npy file holds one tensor";
    else if (options->rotation.layer_type && options->tensors.count == 0 &&
             tensor_name_ends_in(options->input, ".safetensors"))
        wrong =
            "permute --layer-type wants --tensor, to name the layers of that type: others may rotate other "
            "channels";
    if (wrong)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong);
    const char *const inputs[] = {options->input, options->rotation.config};
    return detect ? ROTARY_OK
                  : file_check_output(options->output, inputs, sizeof inputs / sizeof *inputs, error);
}

static enum fused fused_of(const struct permute_options *options)
{
    return options->fused.given ? (enum fused)(options->fused.value + 1) : FUSED_NO;
}

/* ---- permuting ---- */

static rotary_status print_names(const struct invocation *invocation, json_t *names, rotary_error *error)
{
    const struct permute_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:s, s:O}", "output", options->output, "pairing",
                                           rope_config_pairings[options->to.value], "permuted", names),
                                 error);
    for (size_t i = 0; i < json_array_size(names); i++)
        printf("%s\n", json_string_value(json_array_get(names, i)));
    return ROTARY_OK;
}

static rotary_status permute(const struct invocation *invocation, rotary_error *error)
{
    const struct permute_options *options = invocation->options;
    const struct permute_config config = {
        .rotation = rotation_request(&options->rotation, &invocation->common),
        .input = options->input,
        .output = options->output,
        .to = (rotary_pairing)options->to.value,
        .fused = fused_of(options),
        .tensors = options->tensors.items,
    };
    json_t *names = json_array();
    rotary_status status = permute_weights(&config, names, error);
    if (!status)
        status = print_names(invocation, names, error);
    json_decref(names);
    return status;
}

/* ---- detecting ---- */

static const char *const verdicts[] = {"unknown", "half", "interleaved"}; /* of enum pairing_verdict */

static json_t *detected_json(const struct detected *detected)
{
    const struct pairing_finding *finding = &detected->finding;
    json_t *object =
        json_pack("{s:s, s:I, s:I}", "pairing", verdicts[finding->verdict], "heads",
                  (json_int_t)detected->evidence.heads, "pairs", (json_int_t)detected->evidence.pairs);
    for (int i = 0; i < 2; i++)
        json_object_set_new(object, verdicts[i + 1],
                            json_pack("{s:f, s:f, s:f, s:f}", "correlation", finding->correlation[i], "score",
                                      finding->score[i], "contrast", finding->contrast[i], "chance",
                                      finding->chance[i]));
    return object;
}

static rotary_status print_detected_json(const struct detect_result *result, rotary_error *error)
{
    json_t *layers = json_array();
    for (int64_t i = 0; i < result->layer_count; i++) {
        json_t *layer = detected_json(&result->layers[i]);
        json_object_set_new(layer, "tensor", json_string(result->layers[i].name));
        json_array_append_new(layers, layer);
    }
    json_t *object = detected_json(&result->all);
    json_object_set_new(object, "input", json_string(result->all.name));
    json_object_set_new(object, "layers", layers);
    return result_print_json(object, error);
}

static void print_detected(const struct detected *detected)
{
    const struct pairing_finding *finding = &detected->finding;
    printf("%s: %s (%lld pairs; half-split: correlation %.3f, chance %.2g; interleaved: %.3f, %.2g)\n",
           detected->name, verdicts[finding->verdict], (long long)detected->evidence.pairs,
           finding->correlation[0], finding->chance[0], finding->correlation[1], finding->chance[1]);
}

static rotary_status detect(const struct invocation *invocation, bool *known, rotary_error *error)
{
    const struct permute_options *options = invocation->options;
    const struct detect_config config = {
        .rotation = rotation_request(&options->rotation, &invocation->common),
        .input = options->input,
        .fused = fused_of(options),
        .tensors = options->tensors.items,
    };
    struct detect_result result;
    rotary_status status = detect_model(&config, &result, error);
    if (status)
        return status;
    *known = result.all.finding.verdict != PAIRING_UNKNOWN;
    if (invocation->common.json) {
        status = print_detected_json(&result, error);
    } else {
        for (int64_t i = 0; i < result.layer_count; i++)
            print_detected(&result.layers[i]);
        print_detected(&result.all);
    }
    detect_free(&result);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct permute_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    bool known = true;
    rotary_status status = options->detect ? detect(invocation, &known, &error) : permute(invocation, &error);
    return status != ROTARY_OK ? command_fail(&error) : known ? EXIT_DONE : EXIT_UNKNOWN;
}

const struct command command_permute = {
    .name = "permute",
    .operands = "",
    .summary =
        "moves query and key weights between interleaved and half-split pairs, or detects which they have",
    .more = "Within each head the rows inside the rotary span move, all others stay, and so do tensors whose "
            "names do not match; the names of those that moved are printed. Values are not rotated by RoPE "
            "and stay. Elements may be of any type of whole bytes. Biases, and scales that are one number "
            "for each row, move too; packed weights and blocks of rows with one scale are refused. A file "
            "does not say which pairing it has, and weights that already have the wanted one are spoilt. "
            "--detect finds the pairing in traces that training leaves in the weights "
            "(docs/reference/variants.md); it exits with 3 if there are none, as in initial weights.",
    .example =
        "rotary permute --config config.json --input meta.safetensors --to half --output hf.safetensors\n"
        "makes weights for interleaved pairs (Meta's) into weights for half-split ones (Hugging Face's)",
    .options = permute_table,
    .option_count = sizeof permute_table / sizeof permute_table[0],
    .options_size = sizeof(struct permute_options),
    .run = run,
};
