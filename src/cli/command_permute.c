/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary permute: moves the rows of query and key projections from one pairing to the other.
 */
#include "base/fail.h"
#include "cli/result.h"
#include "cli/rotation.h"
#include "file/file.h"
#include "file/npy.h"
#include "file/safetensors.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, TEXT_BYTES = 256 };

struct permute_options {
    struct rotation_options rotation;
    const char *input, *output;
    struct option_integer to;
    struct option_list tensors;
};

static const char *const pairing_names[] = {"half", "interleaved", NULL}; /* of rotary_pairing */

/* Hugging Face's names, and Meta's. */
static const char *const usual_tensors[] = {"*.q_proj.weight",       "*.q_proj.bias",
                                            "*.k_proj.weight",       "*.k_proj.bias",
                                            "*.attention.wq.weight", "*.attention.wk.weight"};
enum { USUAL_TENSORS = sizeof usual_tensors / sizeof usual_tensors[0] };

#define MEMBER(member) offsetof(struct permute_options, member)
static const struct option permute_table[] = {
    ROTATION_OPTIONS("--config",
                     "of the model: its head_dim and how much of a head turns; \"pairing\" is not looked at",
                     struct permute_options, rotation),
    {.name = "--input",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(input),
     .help = "a weight [heads * D, inputs] or a bias [heads * D] in .npy, or a model in safetensors"},
    {.name = "--output",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(output),
     .help = "where the result goes, of the same kind; not the input"},
    {.name = "--to",
     .type = OPTION_CHOICE,
     .value = "NAME",
     .offset = MEMBER(to),
     .choices = pairing_names,
     .help = "the pairing that is wanted, half or interleaved; the input has the other one"},
    {.name = "--tensor",
     .type = OPTION_LIST,
     .value = "PATTERN",
     .offset = MEMBER(tensors),
     .help = "in safetensors, a tensor to permute, * standing for any text; may be given again (default: "
             "*.q_proj.* and *.k_proj.*, weights and biases, and Meta's *.attention.wq.weight, wk)"},
};

/* ---- one tensor ---- */

/* Rows of `shape` are permuted into the new block *moved, which the caller frees. */
static rotary_status permute(const struct permute_options *options, const struct rotation *rotation,
                             const char *label, const int64_t *shape, int dimensions, size_t element,
                             const void *data, void **moved, rotary_error *error)
{
    long long head_dim = (long long)rotation->config.plan.head_dim;
    if (dimensions < 1 || dimensions > 2 || shape[0] < 1 || shape[0] % head_dim != 0 ||
        shape[dimensions - 1] < 1) {
        char got[64] = "";
        if (dimensions == 1)
            snprintf(got, sizeof got, "[%lld]", (long long)shape[0]);
        else if (dimensions == 2)
            snprintf(got, sizeof got, "[%lld, %lld]", (long long)shape[0], (long long)shape[1]);
        else
            snprintf(got, sizeof got, "of %d dimensions", dimensions);
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has shape %s, wanted [rows, inputs] or [rows], rows a multiple of %s's head_dim, "
            "%lld",
            label, got, rotation->path, head_dim);
    }
    size_t row_bytes = element * (size_t)(dimensions == 2 ? shape[1] : 1);
    void *output = malloc((size_t)shape[0] * row_bytes);
    if (!output)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to permute %s", label);
    rotary_pairing to = (rotary_pairing)options->to.value;
    rotary_rope_permute_call call = {
        .struct_size = sizeof call,
        .heads = shape[0] / head_dim,
        .row_bytes = row_bytes,
        .input = data,
        .output = output,
        .from = to == ROTARY_PAIRING_HALF ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF,
        .to = to,
    };
    rotary_status status = rotary_rope_permute(rotation->rope, &call, error);
    if (status)
        free(output);
    else
        *moved = output;
    return status;
}

/* ---- .npy ---- */

static rotary_status permute_npy(const struct permute_options *options, const struct rotation *rotation,
                                 json_t *names, rotary_error *error)
{
    struct npy array;
    void *moved = NULL;
    rotary_status status = npy_read(options->input, &array, error);
    if (status)
        return status;
    status = permute(options, rotation, options->input, array.shape, array.dimensions, npy_size(array.type),
                     array.data, &moved, error);
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

static bool is_meant(const struct permute_options *options, const char *name)
{
    int count = options->tensors.count > 0 ? options->tensors.count : USUAL_TENSORS;
    const char *const *patterns = options->tensors.count > 0 ? options->tensors.items : usual_tensors;
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* Every pattern that was given has to find something: a slip in one must not leave half a model as it was. */
static rotary_status check_patterns(const struct permute_options *options, const struct safetensors *file,
                                    const json_t *names, rotary_error *error)
{
    for (int i = 0; i < options->tensors.count; i++) {
        bool found = false;
        for (int j = 0; !found && j < safetensors_count(file); j++)
            found = fnmatch(options->tensors.items[i], safetensors_at(file, j)->name, 0) == 0;
        if (!found)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s has no tensor \"%.100s\", wanted at least one",
                               options->input, options->tensors.items[i]);
    }
    if (json_array_size(names) == 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no tensor named as query and key projections usually are, wanted "
                           "--tensor PATTERN",
                           options->input);
    return ROTARY_OK;
}

static rotary_status permute_tensors(const struct permute_options *options, const struct rotation *rotation,
                                     const struct safetensors *file, struct safetensor *tensors, void **moved,
                                     json_t *names, rotary_error *error)
{
    for (int i = 0; i < safetensors_count(file); i++) {
        tensors[i] = *safetensors_at(file, i);
        if (!is_meant(options, tensors[i].name))
            continue;
        char label[TEXT_BYTES];
        snprintf(label, sizeof label, "%.100s: tensor \"%.128s\"", options->input, tensors[i].name);
        rotary_status status =
            permute(options, rotation, label, tensors[i].shape, tensors[i].dimensions,
                    rotary_dtype_size(tensors[i].dtype), tensors[i].data, &moved[i], error);
        if (status)
            return status;
        tensors[i].data = moved[i];
        json_array_append_new(names, json_string(tensors[i].name));
    }
    return check_patterns(options, file, names, error);
}

static rotary_status write_tensors(const struct permute_options *options, const struct safetensors *file,
                                   const struct safetensor *tensors, rotary_error *error)
{
    char beside[PATH_BYTES];
    if (snprintf(beside, sizeof beside, "%s.new", options->output) >= (int)sizeof beside)
        return rotary_fail(error, ROTARY_IO_ERROR, "the name of the output is too long");
    json_t *metadata = safetensors_copy_metadata(file);
    if (!metadata)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to write %s", options->output);
    rotary_status status = safetensors_write(beside, tensors, safetensors_count(file), metadata, error);
    json_decref(metadata);
    return status ? status : file_rename(beside, options->output, error);
}

static rotary_status permute_model(const struct permute_options *options, const struct rotation *rotation,
                                   json_t *names, rotary_error *error)
{
    struct safetensors *file;
    rotary_status status = safetensors_open(&file, options->input, error);
    if (status)
        return status;
    size_t count = (size_t)safetensors_count(file);
    struct safetensor *tensors = calloc(count + 1, sizeof *tensors);
    void **moved = calloc(count + 1, sizeof *moved);
    if (!tensors || !moved)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %zu tensors", count);
    if (!status)
        status = permute_tensors(options, rotation, file, tensors, moved, names, error);
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

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

static rotary_status check_options(const struct permute_options *options, rotary_error *error)
{
    const char *wrong = NULL;
    if (!options->rotation.config || !options->input || !options->output || !options->to.given)
        wrong = "permute wants --config FILE, --input FILE, --output FILE and --to half or interleaved";
    else if (!(ends_in(options->input, ".npy") && ends_in(options->output, ".npy")) &&
             !(ends_in(options->input, ".safetensors") && ends_in(options->output, ".safetensors")))
        wrong = "--input and --output are files of one kind, both .npy or both .safetensors";
    else if (options->tensors.count > 0 && ends_in(options->input, ".npy"))
        wrong = "--tensor goes with safetensors; a .npy file holds but one";
    else if (strcmp(options->input, options->output) == 0)
        wrong = "--output is --input, wanted another name";
    return wrong ? rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong) : ROTARY_OK;
}

static rotary_status print_names(const struct invocation *invocation, json_t *names, rotary_error *error)
{
    const struct permute_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:s, s:O}", "output", options->output, "pairing",
                                           pairing_names[options->to.value], "permuted", names),
                                 error);
    for (size_t i = 0; i < json_array_size(names); i++)
        printf("%s\n", json_string_value(json_array_get(names, i)));
    return ROTARY_OK;
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
    json_t *names = json_array();
    status = ends_in(options->input, ".npy") ? permute_npy(options, &rotation, names, &error)
                                             : permute_model(options, &rotation, names, &error);
    if (!status)
        status = print_names(invocation, names, &error);
    json_decref(names);
    rotation_destroy(&rotation);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_permute = {
    .name = "permute",
    .operands = "",
    .summary = "moves query and key weights between interleaved and half-split pairs",
    .more =
        "Within each head the rows inside the rotary span move, all others stay, and so do the tensors that\n"
        "are not meant; the names of those that moved are printed. Values are not turned by RoPE and stay.\n"
        "Nothing in a file says which pairing it has: permuting what already has the wanted one spoils it.",
    .example =
        "rotary permute --config config.json --input meta.safetensors --to half --output hf.safetensors\n"
        "makes weights for interleaved pairs (Meta's) into weights for half-split ones (Hugging Face's)",
    .options = permute_table,
    .option_count = sizeof permute_table / sizeof permute_table[0],
    .options_size = sizeof(struct permute_options),
    .least_operands = 0,
    .most_operands = 0,
    .run = run,
};
