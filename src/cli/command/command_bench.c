/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench: speed beside the machine's limits. Its commands have files of their own.
 */
#include "cli/command.h"

static const struct command *const commands_below[] = {
    &command_bench_train,
    &command_bench_generate,
    &command_bench_translate,
    &command_bench_rope,
    &command_bench_attention,
    &command_bench_decode,
    NULL,
};

const struct command command_bench = {
    .name = "bench",
    .operands = "COMMAND",
    .summary = "times training, generation and the library beside the machine's limits",
    .more =
        "Every command measures the machine's limits in the same run, where it can in alternating rounds: a "
        "large matmul alone, or a pass over memory that computes nothing. Timings are never tests.",
    .example = "rotary bench train --task addition --set batch_size=4\n"
               "times the published model of the addition task with 2,560 tokens per step",
    .below = commands_below,
};
