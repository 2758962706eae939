/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of the commands that read a model's config.json or tensors of heads.
 */
#ifndef ROTARY_CLI_ROTATION_OPTIONS_H
#define ROTARY_CLI_ROTATION_OPTIONS_H

#include "cli/command.h"
#include "oracle/heads.h"
#include "oracle/rotation.h"

struct rotation_options {
    const char *config, *layer_type;
    struct option_integer compat, length;
    struct option_list ignored;
};

/* Their rows, for a command's table: `member` is the rotation_options in its struct. */
#define ROTATION_OPTIONS(config_name, config_help, structure, member)                                        \
    {config_name, SETTING_TEXT, offsetof(structure, member.config), .metavar = "FILE", .help = config_help}, \
        {"--layer-type", SETTING_TEXT, offsetof(structure, member.layer_type), .metavar = "NAME",            \
         .help = "the layer type to read, of a configuration whose layer types have different rotations"},   \
        {"--ignore", SETTING_LIST, offsetof(structure, member.ignored), .metavar = "KEY",                    \
         .help = "ignore this unknown key of the rotation in place of refusing the file; may "               \
                 "be given again"},                                                                          \
        {"--length",                                                                                         \
         SETTING_INTEGER,                                                                                    \
         offsetof(structure, member.length),                                                                 \
         .metavar = "N",                                                                                     \
         .min = 1,                                                                                           \
         .max = 0x1p53,                                                                                      \
         .help = "length of the sequence, where frequencies depend on it: dynamic NTK, LongRoPE (default: "  \
                 "no more than the original context)"},                                                      \
    {                                                                                                        \
        "--compat", SETTING_CHOICE, offsetof(structure, member.compat),                                      \
            .metavar = "NAME", .choices = rotation_compats,                                                  \
            .help = "the implementation to follow where they differ: huggingface, ggml or vllm "             \
                    "(default: none, as the paper or repository that defined the variant)"                   \
    }

/* The row of --layout: `member` is an option_integer in the command's struct. */
#define HEADS_LAYOUT_OPTION(structure, member)                                                               \
    {                                                                                                        \
        "--layout", SETTING_CHOICE, offsetof(structure, member),                                             \
            .metavar = "NAME", .choices = heads_layouts,                                                     \
            .help = "order of the axes in the files: time [B, T, H, D]; heads [B, H, T, D], as PyTorch's "   \
                    "scaled_dot_product_attention and ONNX have it; flat [B, T, H * D], which wants the "    \
                    "number of heads; each also without B (default: time)"                                   \
    }

/* Whether one is given beside the file. */
bool rotation_options_given(const struct rotation_options *options);

/* What they ask for. Texts are borrowed from the options. */
struct rotation_request rotation_request(const struct rotation_options *options,
                                         const struct common_options *common);

#endif
