/* SPDX-License-Identifier: Apache-2.0
 *
 * How far training is, on stderr: a bar that redraws itself on a terminal, a line every few seconds
 * elsewhere.
 */
#ifndef ROTARY_CLI_PROGRESS_H
#define ROTARY_CLI_PROGRESS_H

#include "train/train.h"

#include <stdio.h>

struct progress {
    bool terminal;
    bool drawn;  /* a bar stands in the terminal's last line */
    double last; /* when something was shown */
};

void progress_start(struct progress *progress);
/* One step. `label` names the run ("roper, seed 2, run 4 of 6"), or is "". `runs_left` are those still to
 * come after it, taken to be as long. */
void progress_step(struct progress *progress, const char *label, int runs_left,
                   const struct train_progress *train);
/* A line that stays, above the bar. */
__attribute__((format(printf, 2, 3))) void progress_note(struct progress *progress, const char *format, ...);
/* Takes the bar away. */
void progress_end(struct progress *progress);

/* How wide the terminal is that `file` goes to; `otherwise` if that is none. */
int terminal_columns(FILE *file, int otherwise);

/* "42s", "3m20s", "2h05m", "3d4h". */
enum { PROGRESS_TIME_BYTES = 32 };
void progress_time(double seconds, char text[PROGRESS_TIME_BYTES]);

#endif
