/* SPDX-License-Identifier: Apache-2.0
 *
 * What `rotary compare --list` prints: a line for a shell for every run that is left.
 */
#ifndef ROTARY_CLI_RUN_LINES_H
#define ROTARY_CLI_RUN_LINES_H

#include "cli/command.h"
#include "study/comparison_run.h"

struct run_lines_call {
    const struct invocation *invocation; /* its first operand is the task */
    const struct compare_call *compare;  /* its `left` and `argument` are not used */
};
/* Prints "rotary train TASK --resume --out DIR/ARM-SEED" for each run of the next stage that is not finished, with
 * the program as it was called, or all as one JSON object, and says on stderr what follows. */
ROTARY_CHECKED rotary_status run_lines_print(const struct run_lines_call *call, rotary_error *error);

#endif
