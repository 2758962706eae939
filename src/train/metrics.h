/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.jsonl (train/run.h says what its lines are): written line by line, each with one system call, so
 * that a killed process loses none; and cut back when training goes on from an earlier step.
 */
#ifndef ROTARY_TRAIN_METRICS_H
#define ROTARY_TRAIN_METRICS_H

#include "file/file.h"
#include "task/task.h"

struct metrics {
    int file;
    char path[FILE_PATH_BYTES];
    size_t valid_bytes; /* bytes of the lines that count */
    /* What those lines say last, kept up with what is written. */
    int64_t logged;               /* step of the last line that has a loss; 0: there is none */
    double loss;                  /* of that line; NaN: there is none */
    int64_t evaluated;            /* step of the last evaluation; 0: there is none */
    struct evaluation evaluation; /* without its samples */
    int64_t diverged;             /* the step training ended at for good; 0: it did not */
};

/* Reads what the folder's file says up to step `step`, changing nothing; no file is an empty one. Divergence
 * is noted whatever its step. A line that is not ours, or goes back to an earlier step, with lines behind it
 * that count, is ROTARY_BAD_FILE and named by number. */
ROTARY_CHECKED rotary_status metrics_read(struct metrics *metrics, const char *folder, int64_t step,
                                          rotary_error *error);
/* Opens it for appending, making it if need be, after cutting off whatever metrics_read did not count: lines
 * of later steps, and a line that was not finished. */
ROTARY_CHECKED rotary_status metrics_open(struct metrics *metrics, rotary_error *error);
void metrics_close(struct metrics *metrics);

struct metrics_line {
    int64_t step;
    double loss, learning_rate, gradient_norm, tokens_per_second;
};
/* Allocates nothing. */
ROTARY_CHECKED rotary_status metrics_write_line(struct metrics *metrics, const struct metrics_line *line,
                                                rotary_error *error);
/* With the samples evaluation->samples, all sample_count of them. */
ROTARY_CHECKED rotary_status metrics_write_evaluation(struct metrics *metrics, int64_t step,
                                                      const struct evaluation *evaluation,
                                                      rotary_error *error);
/* The last line of a run whose `what` (such as "loss") is not finite at step `step`. */
ROTARY_CHECKED rotary_status metrics_write_divergence(struct metrics *metrics, int64_t step, const char *what,
                                                      rotary_error *error);
/* Waits until what was written is on the disk. */
ROTARY_CHECKED rotary_status metrics_sync(struct metrics *metrics, rotary_error *error);

#endif
