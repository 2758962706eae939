/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation of --config or --rope, and what it does to numbers by its definition, in double: the reference
 * that `rotary attend` evaluates and librotary's kernels are compared with.
 */
#ifndef ROTARY_CLI_ROTATION_H
#define ROTARY_CLI_ROTATION_H

#include "cli/command.h"
#include "file/rope_config.h"
#include "rope/rope_roles.h"

/* Options of every command that reads a configuration. */
struct rotation_options {
    const char *config, *layer_type;
    struct option_integer compat, length;
    struct option_list ignored;
    struct option_integer angles; /* in place of the configuration's: 0 f64, above that f32 or less */
};

/* Their rows, for the command's table: `member` is the rotation_options in its struct. */
#define ROTATION_OPTIONS(config_name, config_help, structure, member)                                        \
    {config_name, OPTION_TEXT, "FILE", offsetof(structure, member.config), .help = config_help},             \
        {"--layer-type", OPTION_TEXT, "NAME", offsetof(structure, member.layer_type),                        \
         .help = "of a configuration with rope_parameters by type of layer, the type that is meant"},        \
        {"--ignore", OPTION_LIST, "KEY", offsetof(structure, member.ignored),                                \
         .help = "pass over a key of the rotation's that is not known, in place of refusing the file; may "  \
                 "be given again"},                                                                          \
        {"--length",                                                                                         \
         OPTION_INTEGER,                                                                                     \
         "N",                                                                                                \
         offsetof(structure, member.length),                                                                 \
         .min = 1,                                                                                           \
         .max = 0x1p53,                                                                                      \
         .help = "length of the sequence, where frequencies depend on it: dynamic NTK, LongRoPE (default: "  \
                 "no more than the original context)"},                                                      \
    {                                                                                                        \
        "--compat", OPTION_CHOICE, "NAME", offsetof(structure, member.compat),                               \
            .choices = rotation_compats,                                                                     \
            .help = "where implementations differ, do as this one does: huggingface, ggml or vllm "          \
                    "(default: none, as the paper or repository that defined the variant)"                   \
    }

extern const char *const rotation_compats[]; /* of rotary_compat */

struct rotation {
    const char *path; /* of the configuration */
    struct rope_config config;
    rotary_rope *rope;
};

/* Reads options->config and makes the plan. head_dim: of the tensors to be turned, which the file must not
 * contradict; 0: none are, and the file must say. rotation_destroy gives back what a success took. */
ROTARY_CHECKED rotary_status rotation_make(const struct rotation_options *options,
                                           const struct common_options *common, int64_t head_dim,
                                           struct rotation *rotation, rotary_error *error);
void rotation_destroy(struct rotation *rotation);

/* Turns [time, heads, head_dim] in place, the token at time t by position first + t on every axis;
 * `inverse` undoes it. By the definition in double, but with f32 angles or 16-bit tables by the cosines and
 * sines that librotary has for the position. */
ROTARY_CHECKED rotary_status rotation_apply(const struct rotation *rotation, enum rotary_rope_role role,
                                            bool inverse, int64_t first, int64_t time, int64_t heads,
                                            double *values, rotary_error *error);

/* The two channels of a pair. */
void rotation_channels(struct rotary_span span, int64_t pair, int64_t channels[2]);
/* The tensor of a call that has this role. */
rotary_rope_tensor *rotation_tensor(rotary_rope_apply_call *call, enum rotary_rope_role role);

#endif
