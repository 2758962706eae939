/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress of tokenising a large text on stderr, which a signal interrupts.
 */
#ifndef ROTARY_CLI_TOKENISING_H
#define ROTARY_CLI_TOKENISING_H

#include "cli/output/progress.h"
#include "task/task.h"

struct tokenising {
    struct progress progress;
    struct task_watch watch; /* of the tasks that a command makes */
};

/* The struct must not be moved afterwards. */
void tokenising_start(struct tokenising *tokenising, const atomic_bool *interrupted);

#endif
