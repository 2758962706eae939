/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary permute: moves the rows of query and key projections from one pairing to the other, or says which
 * they were trained in.
 */
#include "base/fail.h"
#include "cli/detect.h"
#include "cli/projections.h"
#include "cli/result.h"
#include "cli/rotation.h"
#include "cli/tensor.h"
#include "file/file.h"
#include "file/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

struct permute_options {
    struct rotation_options rotation;
    const char *input, *output;
    struct option_integer to, fused;
    struct option_list tensors;
    bool detect;
};

#define MEMBER(member) offsetof(struct permute_options, member)
static const struct option permute_table[] = {
    ROTATION_OPTIONS("--config",
                     "of the model: its head_dim and how much of a head turns; \"pairing\" is not looked at",
                     struct permute_options, rotation),
    {"--input", OPTION_TEXT, "FILE", MEMBER(input),
     .help = "a weight [heads * D, inputs] or a bias [heads * D] in .npy, or a model in safetensors"},
    {"--output", OPTION_TEXT, "FILE", MEMBER(output),
     .help = "where the result goes, of the same kind; not the input"},
    {"--to", OPTION_CHOICE, "NAME", MEMBER(to), .choices = rope_config_pairings,
     .help = "the pairing that is wanted, half or interleaved; the input has the other one"},
    {"--tensor", OPTION_LIST, "PATTERN", MEMBER(tensors),
     .help = "in safetensors, a tensor to permute, * standing for any text; may be given again (default: "
             "*.q_proj.*, *.k_proj.*, *.q_norm.*, *.k_norm.*, Meta's *.attention.wq.weight and wk; with "
             "--fused *.qkv_proj.*, *.query_key_value.*, *.Wqkv.*)"},
    {"--fused", OPTION_CHOICE, "LAYOUT", MEMBER(fused), .choices = fused_names,
     .help = "queries, keys and values are rows of one matrix: stacked, all query heads, then all key heads, "
             "then all value heads (Phi-3), or grouped, the query heads of a key head, that head, its value "
             "head, and so on (GPT-NeoX, Falcon); value rows stay (default: each has a matrix of its own)"},
    {"--detect", OPTION_FLAG, NULL, MEMBER(detect),
     .help = "write nothing, but say for each layer of --input, safetensors, and for all of them together, "
             "which pairing they were trained in"},
};

/* ---- one tensor ---- */

/* Rows of the tensor are permuted into the new block *moved, which the caller frees. */
static rotary_status permute(const struct permute_options *options, const struct rotation *rotation,
                             const struct projections *projections, const struct safetensor *tensor,
                             const char *label, void **moved, rotary_error *error)
{
    struct head_rows rows;
    rotary_status status = projections_rows(projections, tensor, label, &rows, error);
    if (status)
        return status;
    size_t head_bytes = (size_t)projections->head_dim * rows.row_bytes;
    char *output = malloc((size_t)rows.heads * head_bytes);
    if (!output)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to permute %s", label);
    rotary_pairing to = (rotary_pairing)options->to.value;
    for (int64_t head = 0; !status && head < rows.heads; head++) {
        const char *from = (const char *)tensor->data + (size_t)head * head_bytes;
        rotary_rope_permute_call call = {
            .struct_size = sizeof call,
            .heads = 1,
            .row_bytes = rows.row_bytes,
            .input = from,
            .output = output + (size_t)head * head_bytes,
            .from = to == ROTARY_PAIRING_HALF ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF,
            .to = to,
        };
        if (projections_rotated(projections, &rows, head))
            status = rotary_rope_permute(rotation->rope, &call, error);
        else
            memcpy(call.output, from, head_bytes);
    }
    if (status)
        free(output);
    else
        *moved = output;
    return status;
}

/* ---- .npy ---- */

static rotary_status permute_npy(const struct permute_options *options, const struct rotation *rotation,
                                 const struct projections *projections, json_t *names, rotary_error *error)
{
    /* As many bytes as the array's elements have, whatever they mean. */
    static const char *const types[] = {[1] = "U8", [2] = "U16", [4] = "U32", [8] = "U64"};
    struct npy array;
    void *moved = NULL;
    rotary_status status = npy_read(options->input, &array, error);
    if (status)
        return status;
    struct safetensor tensor = {
        .dimensions = array.dimensions, .data = array.data, .other_type = types[npy_size(array.type)]};
    memcpy(tensor.shape, array.shape, sizeof tensor.shape);
    status = permute(options, rotation, projections, &tensor, options->input, &moved, error);
    if (!status) {
        struct npy output = array;
        output.data = moved;
        status = npy_write(options->output, &output, error);
        json_array_append_new(names, json_string(options->output));
    }
    free(moved);
    npy_free(&array);
    return status;
}

/* ---- safetensors ---- */

/* tensors and moved have zeroed room for every tensor of the file. */
static rotary_status permute_tensors(const struct permute_options *options, const struct rotation *rotation,
                                     const struct projections *projections, const struct safetensors *file,
                                     struct safetensor *tensors, void **moved, json_t *names,
                                     rotary_error *error)
{
    enum fate *fates = calloc((size_t)safetensors_count(file) + 1, sizeof *fates);
    if (!fates)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %d tensors", safetensors_count(file));
    rotary_status status = projections_decide(projections, file, fates, error);
    for (int i = 0; !status && i < safetensors_count(file); i++) {
        tensors[i] = *safetensors_at(file, i);
        if (fates[i] == FATE_STAYS)
            continue;
        char label[TEXT_BYTES];
        snprintf(label, sizeof label, "%.100s: tensor \"%.128s\"", options->input, tensors[i].name);
        status = permute(options, rotation, projections, &tensors[i], label, &moved[i], error);
        tensors[i].data = status ? NULL : moved[i];
        json_array_append_new(names, json_string(tensors[i].name));
    }
    free(fates);
    return status;
}

static rotary_status write_tensors(const struct permute_options *options, const struct safetensors *file,
                                   const struct safetensor *tensors, rotary_error *error)
{
    json_t *metadata = safetensors_copy_metadata(file);
    if (!metadata)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to write %s", options->output);
    rotary_status status =
        safetensors_replace(options->output, tensors, safetensors_count(file), metadata, error);
    json_decref(metadata);
    return status;
}

static rotary_status permute_model(const struct permute_options *options, const struct rotation *rotation,
                                   const struct projections *projections, json_t *names, rotary_error *error)
{
    struct safetensors *file;
    rotary_status status = safetensors_open_any(&file, options->input, error);
    if (status)
        return status;
    size_t count = (size_t)safetensors_count(file);
    struct safetensor *tensors = calloc(count + 1, sizeof *tensors);
    void **moved = calloc(count + 1, sizeof *moved);
    if (!tensors || !moved)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %zu tensors", count);
    if (!status)
        status = permute_tensors(options, rotation, projections, file, tensors, moved, names, error);
    if (!status)
        status = write_tensors(options, file, tensors, error);
    for (size_t i = 0; moved && i < count; i++)
        free(moved[i]);
    free(moved);
    free(tensors);
    safetensors_close(file);
    return status;
}

/* ---- the command ---- */

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
        wrong = "--input and --output are files of one kind, both .npy or both .safetensors";
    else if (options->tensors.count > 0 && tensor_name_ends_in(options->input, ".npy"))
        wrong = "--tensor goes with safetensors; a .npy file holds but one";
    else if (options->rotation.layer_type && options->tensors.count == 0 &&
             tensor_name_ends_in(options->input, ".safetensors"))
        wrong = "permute --layer-type wants the layers of that type named by --tensor, for others may turn "
                "another part of a head";
    else if (!detect && file_same(options->input, options->output))
        wrong = "--output is --input, wanted another name";
    return wrong ? rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong) : ROTARY_OK;
}

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

static rotary_status permute_file(const struct invocation *invocation, const struct rotation *rotation,
                                  const struct projections *projections, rotary_error *error)
{
    const struct permute_options *options = invocation->options;
    json_t *names = json_array();
    rotary_status status = tensor_name_ends_in(options->input, ".npy")
                               ? permute_npy(options, rotation, projections, names, error)
                               : permute_model(options, rotation, projections, names, error);
    if (!status)
        status = print_names(invocation, names, error);
    json_decref(names);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct permute_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct rotation rotation;
    rotary_status status = rotation_make(&options->rotation, &invocation->common, 0, &rotation, &error);
    if (status)
        return command_fail(&error);
    struct projections projections;
    bool told = true;
    status = projections_make(&rotation, &options->fused, options->tensors.items, &projections, &error);
    if (!status && options->detect)
        status = pairing_detect(invocation, &rotation, &projections, options->input, &told, &error);
    else if (!status)
        status = permute_file(invocation, &rotation, &projections, &error);
    rotation_destroy(&rotation);
    return status != ROTARY_OK ? command_fail(&error) : told ? EXIT_DONE : EXIT_UNTOLD;
}

const struct command command_permute = {
    .name = "permute",
    .operands = "",
    .summary = "moves query and key weights between interleaved and half-split pairs, or tells them apart",
    .more =
        "Within each head the rows inside the rotary span move, all others stay, and so do the tensors that "
        "are not meant; the names of those that moved are printed. Values are not turned by RoPE and stay. "
        "Elements may be of any type of whole bytes. Biases, and scales that are one number for each row, "
        "move along; packed weights and blocks of rows with one scale are refused. Nothing in a file says "
        "which pairing it has: permuting what already has the wanted one spoils it. --detect finds it in "
        "what training leaves in the weights, which is statistics (docs/variants.md); it exits with 3 if "
        "that is not enough to tell, as it never is before training.",
    .example =
        "rotary permute --config config.json --input meta.safetensors --to half --output hf.safetensors\n"
        "makes weights for interleaved pairs (Meta's) into weights for half-split ones (Hugging Face's)",
    .options = permute_table,
    .option_count = sizeof permute_table / sizeof permute_table[0],
    .options_size = sizeof(struct permute_options),
    .run = run,
};
