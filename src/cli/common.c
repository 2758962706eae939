/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that mean the same in every command, and those that do in several.
 */
#include "base/threads.h"
#include "cli/command.h"
#include "train/run.h"

static const char *const isa_names[] = {"auto",   "scalar", "neon",       "avx2",
                                        "avx512", "amx",    "avx512bf16", NULL}; /* of rotary_isa */

#define MEMBER(member) offsetof(struct common_options, member)
const struct option common_options[] = {
    {"--threads", OPTION_INTEGER, "N", MEMBER(threads), .min = 0, .max = ROTARY_MAX_THREADS,
     .help = "threads to compute with; results do not depend on it (default: 0, every processor)"},
    {"--isa", OPTION_CHOICE, "NAME", MEMBER(isa), .choices = isa_names,
     .help = "instruction set to compute with: scalar, neon, avx2, avx512, avx512bf16, amx (default: auto, "
             "the best there is)"},
    {"--precision", OPTION_CHOICE, "NAME", MEMBER(precision), .choices = precision_names,
     .help = "of matrix products and stored activations: f32, bf16 (default: auto, bf16 where the processor "
             "has instructions for it)"},
    {"--seed", OPTION_INTEGER, "N", MEMBER(seed), .min = 0, .max = 9007199254740991.0,
     .help = "of weights, data, dropout and sampling (default: 1, or that of the run)"},
    {"--json", OPTION_FLAG, NULL, MEMBER(json), .help = "print the result as one JSON object"},
    {"--help", OPTION_FLAG, NULL, MEMBER(help), .help = "show this help"},
};
const int common_option_count = sizeof common_options / sizeof common_options[0];

#undef MEMBER
#define MEMBER(member) offsetof(struct configuration_options, member)
const struct option configuration_options[2] = {
    {"--preset", OPTION_TEXT, "NAME", MEMBER(preset),
     .help = "configuration to start from: quick or paper (default: quick; of rotary bench, paper)"},
    {"--set", OPTION_LIST, "KEY=VALUE", MEMBER(assignments),
     .help = "any other key of the configuration; may be given again"},
};

const struct option position_option[1] = {
    {"--position", OPTION_TEXT, "NAME", 0,
     .help = "position encoding: none, learned, sinusoidal, rope or roper (default: rope)"},
};

const struct option steps_option[1] = {
    {"--steps", OPTION_INTEGER, "N", 0, .min = 1, .max = 4294967295.0,
     .help = "updates of the parameters in each run (default: the preset's)"},
};

const struct option temperature_option[1] = {
    {"--temperature", OPTION_REAL, "X", 0, .min = 0, .max = 100,
     .help = "sample from softmax(logits / X); 0 takes the likeliest (default: 0)"},
};

int command_option_sets(const struct command *command, void *options, struct common_options *common,
                        struct option_set sets[COMMAND_MAX_SETS])
{
    int count = 0;
    for (int i = 0; command->shared[i].count > 0; i++)
        sets[count++] = (struct option_set){command->shared[i].rows, command->shared[i].count,
                                            options ? (char *)options + command->shared[i].offset : NULL};
    if (command->option_count > 0)
        sets[count++] = (struct option_set){command->options, command->option_count, options};
    if (common)
        sets[count++] = (struct option_set){common_options, common_option_count, common};
    return count;
}
