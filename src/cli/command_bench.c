/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench: how fast it is, beside the machine's own limit. The commands below it are files of their own.
 */
#include "cli/command.h"

static const struct command *const commands_below[] = {
    &command_bench_train,     &command_bench_generate, &command_bench_rope,
    &command_bench_attention, &command_bench_decode,   NULL,
};

const struct command command_bench = {
    .name = "bench",
    .operands = "COMMAND",
    .summary = "times training, writing and the library beside the machine's limits",
    .more =
        "Every command measures, in the same run and by turns where it can, what the machine does at best: "
        "large matrix products alone, or a pass over memory that computes nothing. Timings are never tests.",
    .example = "rotary bench train --task addition --set batch_size=4\n"
               "times the published model of the addition task on 2,560 tokens a step",
    .below = commands_below,
};
