/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.jsonl; train/run.h documents its lines. Each line has a checksum (file/checksum/line_checksum.h),
 * and is written by one system call, so that a killed process loses none. When training resumes from an
 * earlier step, the file is truncated to that step.
 */
#ifndef ROTARY_TRAIN_FOLDER_METRICS_H
#define ROTARY_TRAIN_FOLDER_METRICS_H

#include "file/file.h"
#include "train/evaluation/evaluation.h"
#include "train/folder/event_file.h"

struct metrics {
    int file;
    struct event_file events; /* an event for each line; closed: there is no such file */
    char path[FILE_PATH_BYTES];
    uint64_t valid_bytes; /* of the lines up to the step of metrics_read */
    /* The latest values, of the lines read and written. */
    int64_t logged;               /* step of the last line with a loss; 0: none */
    double loss;                  /* of that line; NaN: none */
    int64_t evaluated;            /* step of the last evaluation of the run's weights; 0: none */
    int64_t averaged;             /* step of the last evaluation of averaged weights; 0: none */
    struct evaluation evaluation; /* without its samples */
    double lowest_loss;           /* the lowest validation loss of the run's weights; infinity: none */
    int64_t diverged;             /* step at which training diverged; 0: it did not */
    int64_t dropped;              /* step of the last line after the step of metrics_read; 0: none */
};

/* Reads the lines of the folder's file up to step `step`, changing nothing; a missing file counts as empty. A
 * line of divergence is read whatever its step. A line that is invalid, without its checksum, or of an
 * earlier step than the line before it is ROTARY_BAD_FILE if a line up to `step` follows; the message has its
 * number. */
ROTARY_CHECKED rotary_status metrics_read(struct metrics *metrics, const char *folder, int64_t step,
                                          rotary_error *error);
/* Opens or creates the file for appending, truncated to valid_bytes: lines of later steps and an unfinished
 * line are dropped. */
ROTARY_CHECKED rotary_status metrics_open(struct metrics *metrics, rotary_error *error);
/* Then writes an event file too, beginning with the lines that are there, if it is wanted or if the folder
 * has one (train/folder/event_file.h). */
ROTARY_CHECKED rotary_status metrics_open_events(struct metrics *metrics, const char *folder, bool wanted,
                                                 rotary_error *error);
void metrics_close(struct metrics *metrics);

struct metrics_line {
    int64_t step;
    double loss, learning_rate, gradient_norm, tokens_per_second;
};
/* Allocates nothing, but for an event file. */
ROTARY_CHECKED rotary_status metrics_write_line(struct metrics *metrics, const struct metrics_line *line,
                                                rotary_error *error);
/* Writes the samples too: evaluation->samples, sample_count of them. */
ROTARY_CHECKED rotary_status metrics_write_evaluation(struct metrics *metrics, int64_t step,
                                                      const struct evaluation *evaluation,
                                                      rotary_error *error);
/* Writes that `what`, such as "loss", is not finite at step `step`: the last line of a run that diverged. */
ROTARY_CHECKED rotary_status metrics_write_divergence(struct metrics *metrics, int64_t step, const char *what,
                                                      rotary_error *error);
/* The number as a line has it, which rounds to nine digits. */
double metrics_rounded(double value);
/* Waits until the lines written are on the disk. */
ROTARY_CHECKED rotary_status metrics_sync(struct metrics *metrics, rotary_error *error);

/* The numbers of an evaluation that a line has, and a result that is printed: which of them an evaluation has is
 * for the caller to say. One table has their names and members. */
enum metric_group {
    METRICS_ALWAYS,           /* "correct", "problems", "loss", "accuracy", "seconds" */
    METRICS_BITS_PER_BYTE,    /* its own name */
    METRICS_FREQUENCY_LOSS,   /* likewise */
    METRICS_TRANSLATION,      /* "bleu", "translated" */
    METRICS_TEST_TRANSLATION, /* "bleu", "translated", "loss", "accuracy", of the test set */
    METRICS_TEST_LABELS,      /* "loss", of the test set */
    METRIC_GROUPS
};
/* Adds the numbers of a group to an object; null is one that is not finite. */
void metrics_to_json(json_t *object, enum metric_group group, const struct evaluation *evaluation);

/* Adds what an evaluation has by its data: "bleu", "translated" and "signature", "labels", and "test". */
void metrics_of_data_json(json_t *object, const struct evaluation *evaluation);

/* The scores of labels as evaluations have them in JSON, {"examples": 883, "score": "matthews", "accuracy":
 * 0.81,
 * ...}: "score" is the one that decides, and those that the labels do not have are absent. NULL without
 * memory. And back; examples 0 if the object has no valid ones. */
json_t *metrics_labels_json(const struct label_scores *scores);
struct label_scores metrics_labels_read(const json_t *object);

#endif
