/* SPDX-License-Identifier: Apache-2.0
 *
 * lengths.json in a run's folder: its scores on sequences of other lengths than it was trained on
 * (train/evaluation/length_evaluation.h).
 *
 *     {"step": 600, "lengths": [
 *         {"length": 512, "scaling": "yarn", "correct": 12, "problems": 128, "loss": 1.31}, ...]}
 *
 * "correct", "problems" and "loss" are null where the model cannot compute sequences of that length, and
 * "problems" is 0 for a task without any. Where a text was cut to that length there are also "bits_per_byte",
 * if its bytes are known, and "positions" (records/record_positions.h).
 */
#ifndef ROTARY_RECORDS_RECORD_LENGTHS_H
#define ROTARY_RECORDS_RECORD_LENGTHS_H

#include "score/position_losses.h"

#include <rotary/status.h>

#include <stdbool.h>
#include <stdint.h>

enum { RECORD_SCALING_BYTES = 16 };

struct record_length {
    int64_t length;
    char scaling[RECORD_SCALING_BYTES]; /* of the rotation: "none", "yarn"; letters and digits */
    bool possible;                      /* false: the rest is zero */
    int64_t correct, problems;
    double loss;                      /* NaN: it was not finite */
    double bits_per_byte;             /* 0: not known */
    struct position_losses positions; /* length 0: not known */
};

struct record_lengths {
    int64_t step; /* of the weights */
    struct record_length *items;
    int count;
};

/* Reads the file of a run's folder; without one there are none. A file that is not as above is
 * ROTARY_BAD_FILE, and the message has the key. */
ROTARY_CHECKED rotary_status record_lengths_read(struct record_lengths *lengths, const char *folder,
                                                 rotary_error *error);
/* Reads a file that must be there. */
ROTARY_CHECKED rotary_status record_lengths_read_file(struct record_lengths *lengths, const char *path,
                                                      rotary_error *error);
/* Replaces the file. */
ROTARY_CHECKED rotary_status record_lengths_write(const struct record_lengths *lengths, const char *folder,
                                                  rotary_error *error);
/* Adds a score, or replaces that of the same length and scaling. */
ROTARY_CHECKED rotary_status record_lengths_add(struct record_lengths *lengths,
                                                const struct record_length *length, rotary_error *error);
void record_lengths_free(struct record_lengths *lengths);

/* NULL: there is none. */
const struct record_length *record_lengths_find(const struct record_lengths *lengths, int64_t length,
                                                const char *scaling);

#endif
