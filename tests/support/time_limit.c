/* SPDX-License-Identifier: Apache-2.0
 *
 * time_limit SECONDS COMMAND...: runs COMMAND and exits as it does, but fails if it passed and took more than SECONDS of
 * processor time, with all processes that it waited for. How busy the machine is changes little of that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

int main(int count, char **arguments)
{
    char *end = NULL;
    const double limit = count > 2 ? strtod(arguments[1], &end) : 0;
    if (count < 3 || *end || !(limit > 0)) {
        fprintf(stderr, "usage: time_limit SECONDS COMMAND...\n");
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror(arguments[2]);
        return 2;
    }
    if (!WIFEXITED(status)) {
        fprintf(stderr, "signal %d ended %s\n", WTERMSIG(status), arguments[2]);
        return 1;
    }
    const double seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    if (WEXITSTATUS(status) != 0 || seconds <= limit)
        return WEXITSTATUS(status);
    fprintf(stderr,
            "This took %.1f seconds of processor time, and a test labelled quick takes at most %g: make it "
            "quicker, or "
            "label it fast where it is registered.\n",
            seconds, limit);
    return 1;
}
