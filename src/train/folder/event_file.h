/* SPDX-License-Identifier: Apache-2.0
 *
 * The event file that TensorBoard reads, beside metrics.jsonl: an event for each of its lines. The numbers of
 * a line are scalars: train/loss, train/learning_rate ... of a line of training, validation/loss ...,
 * validation/labels/accuracy and test/bleu of an evaluation, and average/loss ... of averaged weights.
 *
 * The format is TensorFlow's: records of a length, the bytes of an Event (event.proto, summary.proto), and
 * checksums of both, CRC-32C that are masked (lib/io/record_writer.h).
 */
#ifndef ROTARY_TRAIN_FOLDER_EVENT_FILE_H
#define ROTARY_TRAIN_FOLDER_EVENT_FILE_H

#include "file/file.h"
#include "text/text_buffer.h"

struct event_file {
    int file; /* below 0: closed */
    char path[FILE_PATH_BYTES];
    struct text_buffer record; /* the last one written */
};

/* Replaces the folder's event file by one with the lines in the first `bytes` bytes of `metrics`, and opens
 * it for more. Events that the old file has keep their time, the others get the present one. */
ROTARY_CHECKED rotary_status event_file_open(struct event_file *events, const char *folder,
                                             const char *metrics, uint64_t bytes, rotary_error *error);
/* Whether the folder has an event file. */
ROTARY_CHECKED rotary_status event_file_find(const char *folder, bool *found, rotary_error *error);
/* Writes the event of a line of metrics.jsonl, at the present time, by one system call. */
ROTARY_CHECKED rotary_status event_file_add(struct event_file *events, const char *line, size_t count,
                                            rotary_error *error);
void event_file_close(struct event_file *events);

/* Appends the record that every file begins with, and that of a line, at `time`, in seconds since 1970. */
ROTARY_CHECKED rotary_status event_append_version(struct text_buffer *to, double time, rotary_error *error);
ROTARY_CHECKED rotary_status event_append_line(struct text_buffer *to, double time, const char *line,
                                               size_t count, rotary_error *error);

#endif
