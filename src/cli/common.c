/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of every command, and those of several.
 */
#include "base/threads.h"
#include "cli/command.h"
#include "train/folder/checkpoint.h"

const char *const isa_names[] = {"auto",   "scalar", "neon",       "avx2",
                                 "avx512", "amx",    "avx512bf16", NULL}; /* of rotary_isa */

const char *const device_names[] = {"cpu", "cuda", "auto", NULL}; /* of enum device */

#define MEMBER(member) offsetof(struct common_options, member)
const struct setting device_option[1] = {
    {"--device", SETTING_CHOICE, MEMBER(device), .metavar = "NAME", .choices = device_names,
     .help =
         "what to compute on: cpu, cuda (a program that is built with CUDA), or auto, which is cuda where "
         "there is such a device (default: cpu)"},
};

const struct setting common_options[] = {
    {"--threads", SETTING_INTEGER, MEMBER(threads), .metavar = "N", .min = 0, .max = ROTARY_MAX_THREADS,
     .help = "threads to compute with; results do not depend on it (default: 0, every processor)"},
    {"--isa", SETTING_CHOICE, MEMBER(isa), .metavar = "NAME", .choices = isa_names,
     .help = "instruction set to compute with: scalar, neon, avx2, avx512, avx512bf16, amx (default: auto, "
             "the best there is)"},
    {"--precision", SETTING_CHOICE, MEMBER(precision), .metavar = "NAME", .choices = precision_names,
     .help = "of matmuls and stored activations: f32, bf16 (default: auto, bf16 where it is the faster "
             "one)"},
    {"--seed", SETTING_INTEGER, MEMBER(seed), .metavar = "N", .min = 0, .max = 9007199254740991.0,
     .help = "of weights, data, dropout and sampling (default: 1, or that of the run)"},
    {"--json", SETTING_BOOLEAN, MEMBER(json), .help = "print the result as one JSON object"},
    {"--help", SETTING_BOOLEAN, MEMBER(help), .help = "show this help"},
};
const int common_option_count = sizeof common_options / sizeof common_options[0];

#undef MEMBER
#define MEMBER(member) offsetof(struct configuration_options, member)
const struct setting configuration_options[2] = {
    {"--preset", SETTING_TEXT, MEMBER(preset), .metavar = "NAME",
     .help = "configuration to start from, of those that rotary help presets lists, or a file NAME.json of "
             "your own with the keys that differ from the defaults (default: quick; of rotary bench, paper)"},
    {"--set", SETTING_LIST, MEMBER(assignments), .metavar = "KEY=VALUE",
     .help = "any key of the configuration; may be given again, and of two of one key the last "
             "holds"},
};

const struct setting position_option[1] = {
    {"--position", SETTING_TEXT, 0, .metavar = "NAME",
     .help = "position encoding: {positions}; {encodings}, which files describe that come with the program; "
             "or a file NAME.json of your own (default: rope)"},
};

const struct setting steps_option[1] = {
    {"--steps", SETTING_INTEGER, 0, .metavar = "N", .min = 1, .max = 4294967295.0,
     .help = "updates of the parameters in each run (default: the preset's)"},
};

const struct setting temperature_option[1] = {
    {"--temperature", SETTING_REAL, 0, .metavar = "X", .min = 0, .max = 100,
     .help = "sample from softmax(logits / X); 0 takes the most probable token (default: 0)"},
};

const struct setting checkpoint_option[1] = {
    {"--checkpoint", SETTING_CHOICE, 0, .metavar = "NAME", .choices = checkpoint_names,
     .help =
         "which model of the run: last; best, the one with the lowest validation loss; or average, the mean "
         "of the last checkpoints, of a run that makes one (default: last)"},
};

int command_option_sets(const struct command *command, void *options, struct common_options *common,
                        struct settings sets[COMMAND_MAX_SETS])
{
    int count = 0;
    for (int i = 0; command->shared[i].count > 0; i++)
        sets[count++] = (struct settings){command->shared[i].rows, command->shared[i].count,
                                          options ? (char *)options + command->shared[i].offset : NULL};
    if (command->option_count > 0)
        sets[count++] = (struct settings){command->options, command->option_count, options};
    if (command->on_device)
        sets[count++] = (struct settings){device_option, 1, common};
    if (common)
        sets[count++] = (struct settings){common_options, common_option_count, common};
    return count;
}
