/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that mean the same in every command.
 */
#include "cli/command.h"
#include "train/run.h"

static const char *const isa_names[] = {"auto",   "scalar", "neon", "avx2",
                                        "avx512", "amx",    NULL}; /* of rotary_isa */

enum { MOST_THREADS = 1024 };

#define MEMBER(member) offsetof(struct common_options, member)
const struct option common_options[] = {
    {.name = "--threads",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(threads),
     .least = 0,
     .most = MOST_THREADS,
     .help = "threads to compute with; results do not depend on it (default: 0, every processor)"},
    {.name = "--isa",
     .type = OPTION_CHOICE,
     .value = "NAME",
     .offset = MEMBER(isa),
     .choices = isa_names,
     .help = "instruction set to compute with: scalar, neon, avx2, avx512, amx (default: auto, the best "
             "there is)"},
    {.name = "--precision",
     .type = OPTION_CHOICE,
     .value = "NAME",
     .offset = MEMBER(precision),
     .choices = precision_names,
     .help =
         "of matrix products and stored activations: f32, bf16 (default: auto, bf16 where the processor has "
         "instructions for it)"},
    {.name = "--seed",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(seed),
     .least = 0,
     .most = 9007199254740991.0,
     .help = "of weights, data, dropout and sampling (default: 1, or that of the run)"},
    {.name = "--json",
     .type = OPTION_FLAG,
     .offset = MEMBER(json),
     .help = "print the result as one JSON object"},
    {.name = "--help", .type = OPTION_FLAG, .offset = MEMBER(help), .help = "show this help"},
};
const int common_option_count = sizeof common_options / sizeof common_options[0];
