/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress of training on stderr: a bar on a terminal, elsewhere a line every few seconds.
 */
#ifndef ROTARY_CLI_OUTPUT_PROGRESS_H
#define ROTARY_CLI_OUTPUT_PROGRESS_H

#include "train/train.h"

#include <stdio.h>

struct progress {
    bool terminal;
    bool drawn;  /* there is a bar in the terminal's last line */
    double last; /* when something was shown */
};

void progress_start(struct progress *progress);
/* One step. `label` names the run ("roper, seed 2, run 4 of 6"), or is "". `runs_left` are those still to
 * come after it, taken to be as long. */
void progress_step(struct progress *progress, const char *label, int runs_left,
                   const struct train_progress *train);
/* One step of one of several runs that are trained side by side; `line` says what all of them are at. */
void progress_step_of_many(struct progress *progress, const char *label, const struct train_progress *train,
                           const char *line);
/* A line in place of the bar, on a terminal alone. */
__attribute__((format(printf, 2, 3))) void progress_show(struct progress *progress, const char *format, ...);
/* Shows, as often as a bar, a line in its place on a terminal and a line of its own elsewhere. */
__attribute__((format(printf, 2, 3))) void progress_at_times(struct progress *progress, const char *format,
                                                             ...);
/* A line that stays, above the bar. */
__attribute__((format(printf, 2, 3))) void progress_note(struct progress *progress, const char *format, ...);
/* Removes the bar. */
void progress_end(struct progress *progress);

/* The columns of the terminal that `file` goes to; `otherwise` if it is no terminal. */
int terminal_columns(FILE *file, int otherwise);

/* "42s", "3m20s", "2h05m", "3d4h". */
enum { PROGRESS_TIME_BYTES = 32 };
void progress_time(double seconds, char text[PROGRESS_TIME_BYTES]);

#endif
