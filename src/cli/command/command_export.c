/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary export: a trained model in the formats of other programs.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "inference/exported_model.h"
#include "run_folder/folder.h"

#include <stdio.h>
#include <string.h>

struct export_options {
    struct option_integer checkpoint, format, dtype;
    const char *out;
};

static const char *const dtype_names[] = {"f32", "f16", "bf16", NULL}; /* in the order of rotary_dtype */

#define MEMBER(member) offsetof(struct export_options, member)
static const struct setting export_table[] = {
    {"--format", SETTING_CHOICE, MEMBER(format), .metavar = "NAME", .choices = export_format_names,
     .help = "huggingface, a folder that transformers reads; or gguf, a file that llama.cpp reads"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "PATH",
     .help = "the folder or the file to write; a folder must not be there yet"},
    {"--dtype", SETTING_CHOICE, MEMBER(dtype), .metavar = "NAME", .choices = dtype_names,
     .help = "type of the weights, f32, f16 or bf16; norms and biases of gguf stay f32 (default: f32)"},
};

static rotary_status check_options(const struct invocation *invocation, rotary_error *error)
{
    const struct export_options *options = invocation->options;
    if (!options->format.given || !options->out)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "export wants --format huggingface or gguf, and --out PATH");
    return folder_refuse_output(invocation->operands.items[0], options->out, error);
}

/* The last part of a path, without slashes after it. */
static void name_of(const char *path, char name[FILE_PATH_BYTES])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(name, FILE_PATH_BYTES, "%.*s", (int)(end - begin), path + begin);
}

static rotary_status print(const struct invocation *invocation, const struct exported_model *result,
                           rotary_error *error)
{
    const struct export_options *options = invocation->options;
    const struct export_written *written = &result->written;
    const char *dtype = dtype_names[options->dtype.value];
    char name[FILE_PATH_BYTES]; /* for the terminal, which would obey control characters */
    snprintf(name, sizeof name, "%s", options->out);
    rotary_replace_control(name, false);
    if (result->reason[0])
        fprintf(stderr,
                "rotary: %s has no tokenizer (tokenizer.ggml.model is no_vocab), for llama.cpp has none that "
                "gives "
                "the same tokens: %s; give it the numbers that rotary tokenize encode prints\n",
                name, result->reason);
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s*}", "output", options->out,
                                           "format", export_format_names[options->format.value], "model_type",
                                           written->model_type, "dtype", dtype, "tensors",
                                           (json_int_t)written->tensors, "bytes", (json_int_t)written->bytes,
                                           "no_vocab", result->reason[0] ? result->reason : NULL),
                                 error);
    printf("%s: a model of type %s, %lld tensors of %.1f MB together, in %s\n", name, written->model_type,
           (long long)written->tensors, (double)written->bytes / 1e6, dtype);
    return ROTARY_OK;
}

static rotary_status export(const struct invocation *invocation, struct exported_model *result,
                            rotary_error *error)
{
    const struct export_options *options = invocation->options;
    char name[FILE_PATH_BYTES];
    const char *folder = invocation->operands.items[0];
    name_of(folder, name);
    const struct export_model_call call = {.where = folder,
                                           .path = options->out,
                                           .name = name,
                                           .format = (enum export_format)options->format.value,
                                           .dtype = (rotary_dtype)options->dtype.value};
    const struct loaded_model_call load = {.folder = folder,
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1,
                                           .time = 1,
                                           .takes_pretrained = true,
                                           .reads_parameters = true};
    struct loaded_model model;
    rotary_status status = exported_model_check(&call, error);
    if (status == ROTARY_OK)
        status = plan_open_model(&load, &model, error);
    if (status != ROTARY_OK)
        return status;
    status = exported_model_write(&call, &model, result, error);
    loaded_model_close(&model);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct exported_model result;
    rotary_error error = {0};
    if (check_options(invocation, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    rotary_status status = export(invocation, &result, &error);
    if (status == ROTARY_OK)
        status = print(invocation, &result, &error);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_export = {
    .name = "export",
    .operands = "DIR",
    .summary = "writes a trained model for Hugging Face or llama.cpp",
    .more =
        "DIR is the folder of a run, or of a Hugging Face decoder, with rotary positions and of a kind "
        "that the "
        "format has (docs/how-to/export.md): like Llama, Mistral, Qwen 2 or 3, OLMo 2, Phi-3, Gemma 2 or 3, "
        "or "
        "GPT-NeoX. "
        "Weights of "
        "queries and keys are put into the order of pairs that the format wants, the scaling of the rotation "
        "is written as its readers expect it, and the tokenizer is written beside. What the format cannot "
        "express, such as RoPER, is refused, and the message names the key of the configuration. A folder or "
        "file appears complete or not at all.",
    .example = "rotary export runs/language-quick-rope --format huggingface --out mine-hf --dtype bf16\n"
               "writes a folder for AutoModelForCausalLM.from_pretrained(\"mine-hf\")",
    .shared = {{checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = export_table,
    .option_count = sizeof export_table / sizeof export_table[0],
    .options_size = sizeof(struct export_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
