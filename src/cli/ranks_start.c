/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ranks_start.h"

#include "ranks/ranks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* On the thread of the watch, while others may print. */
static void say_lost(void *argument, const char *message)
{
    const int *errors = argument;
    char line[1024];
    snprintf(line, sizeof line, "\nrotary: %s\n", message);
    (void)!write(*errors, line, strlen(line));
}

/* Nothing is printed from here on. */
static bool be_silent(void)
{
    return freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
}

enum exit_status ranks_start_and_run(struct invocation *invocation)
{
    struct ranks *ranks;
    rotary_error error = {0};
    int errors = dup(STDERR_FILENO);
    if (ranks_begin(&ranks, say_lost, &errors, &error) != ROTARY_OK ||
        (ranks_index(ranks) > 0 && !be_silent())) {
        close(errors);
        return command_fail(&error);
    }
    invocation->ranks = ranks;
    if (ranks && invocation->common.threads.value == 0)
        invocation->common.threads.value = ranks_threads(ranks);
    const enum exit_status status = invocation->command->run(invocation);
    ranks_end(ranks);
    close(errors);
    return status;
}
