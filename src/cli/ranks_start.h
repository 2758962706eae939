/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that the ranks of mpirun run together.
 */
#ifndef ROTARY_CLI_RANKS_START_H
#define ROTARY_CLI_RANKS_START_H

#include "cli/command.h"

/* Runs the command on all ranks, each with its share of the threads. Rank 0 alone prints: what another one fails
 * by, it tells rank 0. */
enum exit_status ranks_start_and_run(struct invocation *invocation);

#endif
