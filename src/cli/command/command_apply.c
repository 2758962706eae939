/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary apply: rotates a tensor with librotary.
 */
#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/rotation_options.h"
#include "oracle/rotate_tensor.h"

#include <stdio.h>

struct apply_options {
    struct rotation_options rotation;
    const char *cosine, *sine, *input, *output, *positions;
    struct option_integer offset, pairing, role, arithmetic, angles, layout, heads;
    bool inverse;
};

static const char *const role_names[] = {"query", "key", "value", NULL}; /* of enum rotary_rope_role */

static const char *const arithmetic_names[] = {"f32", "f16", "bf16", NULL}; /* of rotary_dtype */
static const char *const angle_names[] = {"f64", "f32", "f16", "bf16",
                                          NULL}; /* of enum rotation_angles, from ANGLES_F64 on */

#define MEMBER(member) offsetof(struct apply_options, member)
static const struct setting apply_table[] = {
    ROTATION_OPTIONS("--config", "the rotation: a model's config.json (see rotary help frequencies)",
                     struct apply_options, rotation),
    {"--cos", SETTING_TEXT, MEMBER(cosine), .metavar = "FILE",
     .help = "cosines: [positions, pairs], or [B, T, pairs] or [1, T, pairs] of the tokens one by one; with "
             "--config too, that gives the pairing and the rotated channels"},
    {"--sin", SETTING_TEXT, MEMBER(sine), .metavar = "FILE", .help = "sines, likewise"},
    {"--pairing", SETTING_CHOICE, MEMBER(pairing), .metavar = "NAME", .choices = rope_config_pairings,
     .help = "with --cos and without --config, which channels are a pair: half (i and i + pairs) or "
             "interleaved (2i and 2i + 1) (default: half)"},
    {"--input", SETTING_TEXT, MEMBER(input), .metavar = "FILE",
     .help =
         "the tensor: [T, D], [T, H, D] or [B, T, H, D], in f32, f16 or bf16; f64 is rounded to f32 first"},
    HEADS_LAYOUT_OPTION(struct apply_options, layout),
    {"--heads", SETTING_INTEGER, MEMBER(heads), .metavar = "N", .min = 1, .max = 1 << 20,
     .help = "with --layout flat, the number of heads"},
    {"--output", SETTING_TEXT, MEMBER(output), .metavar = "FILE",
     .help = "where the result goes, in the input's type (f64: f32), or that of --arithmetic bf16 or f16"},
    {"--positions", SETTING_TEXT, MEMBER(positions), .metavar = "FILE",
     .help = "positions of the tokens: [T] or [B, T]; of rotations with several axes also [axes, T] or "
             "[axes, B, T]; numbers that are not whole are rounded to f32 (default: 0, 1, 2, ...)"},
    {"--offset", SETTING_INTEGER, MEMBER(offset), .metavar = "N", .min = -0x1p53, .max = 0x1p53,
     .help = "the first token's position, in place of --positions (default: 0)"},
    {"--as", SETTING_CHOICE, MEMBER(role), .metavar = "ROLE", .choices = role_names,
     .help = "what the tensor is: query, key or value; they differ where there are magnitudes: values have "
             "none, xPos divides keys by those of queries (default: query)"},
    {"--arithmetic", SETTING_CHOICE, MEMBER(arithmetic), .metavar = "TYPE", .choices = arithmetic_names,
     .help = "f32, or bf16 or f16 as a model in PyTorch of that type: input, cosines and sines, every "
             "product and every sum are rounded to it (default: f32, rounded once at the end)"},
    {"--angles", SETTING_CHOICE, MEMBER(angles), .metavar = "TYPE", .choices = angle_names,
     .help = "f64, f32, or bf16 or f16 as a rotation that was cast to it: frequencies, positions, angles, "
             "cosines and sines are each rounded to it (default: the configuration's \"angles\", else f64)"},
    {"--inverse", SETTING_BOOLEAN, MEMBER(inverse), .help = "the inverse rotation, magnitude included"},
};

static rotary_status check_options(const struct apply_options *options, rotary_error *error)
{
    const char *wrong = NULL;
    if (!options->input || !options->output)
        wrong = "apply wants --input FILE and --output FILE";
    else if (!options->rotation.config && !options->cosine && !options->sine)
        wrong = "apply wants --config FILE, or --cos FILE and --sin FILE";
    else if (!options->cosine != !options->sine)
        wrong = "--cos and --sin want each other";
    else if (!options->rotation.config && rotation_options_given(&options->rotation))
        wrong =
            "--layer-type, --ignore, --length and --compat want --config FILE, whose rotation they are about";
    else if (options->rotation.length.given && options->cosine)
        wrong = "--length and --cos exclude each other: cosines are given, not computed from frequencies";
    else if (options->angles.given && !options->rotation.config)
        wrong = "--angles wants --config: --cos and --sin are not computed from angles";
    else if (options->angles.given && options->cosine)
        wrong = "--angles and --cos exclude each other";
    else if (options->positions && options->offset.given)
        wrong = "--positions and --offset exclude each other";
    else if (options->pairing.given && (options->rotation.config || !options->cosine))
        wrong = "--pairing wants --cos without --config: a configuration has the key \"pairing\"";
    else if ((options->layout.value == HEADS_FLAT) != options->heads.given)
        wrong = options->heads.given ? "--heads wants --layout flat" : "--layout flat wants --heads N";
    if (wrong)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong);
    const char *const inputs[] = {options->input, options->positions, options->cosine, options->sine,
                                  options->rotation.config};
    return tensor_check_output(options->output, inputs, sizeof inputs / sizeof *inputs, error);
}

static rotary_status print_result(const struct invocation *invocation, const struct tensor *output,
                                  rotary_error *error)
{
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:o, s:s}", "output", output->label, "shape",
                                           result_shape(output), "type", tensor_type_name(output->type)),
                                 error);
    char shape[SHAPE_TEXT_BYTES];
    printf("%s: %s %s\n", output->label, tensor_shape_text(output, shape), tensor_type_name(output->type));
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct apply_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct rotate_tensor_config config = {
        .rotation = rotation_request(&options->rotation, &invocation->common),
        .cosine = options->cosine,
        .sine = options->sine,
        .pairing = (rotary_pairing)options->pairing.value,
        .input = options->input,
        .output = options->output,
        .positions = options->positions,
        .offset = options->offset.value,
        .role = (enum rotary_rope_role)options->role.value,
        .arithmetic = (rotary_dtype)options->arithmetic.value,
        .layout = (enum heads_layout)options->layout.value,
        .heads = options->heads.value,
        .inverse = options->inverse,
    };
    if (options->angles.given)
        config.rotation.angles = (enum rotation_angles)(ANGLES_F64 + options->angles.value);
    struct tensor output = {0};
    rotary_status status = rotate_tensor(&config, &output, &error);
    if (!status)
        status = print_result(invocation, &output, &error);
    tensor_free(&output);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_apply = {
    .name = "apply",
    .operands = "",
    .summary = "rotates a tensor by a RoPE configuration, or by given cosines and sines",
    .more = "Files are .npy, or safetensors files with the tensor's name after a colon if there are several "
            "(model.safetensors:q). The arithmetic is librotary's: f32, rounded once to the tensor's type.",
    .example = "rotary apply --config config.json --input q.npy --offset 100 --output rotated.npy\n"
               "rotates the queries of the tokens at positions 100, 101, ...",
    .options = apply_table,
    .option_count = sizeof apply_table / sizeof apply_table[0],
    .options_size = sizeof(struct apply_options),
    .run = run,
};
