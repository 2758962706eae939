/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/event_file.h"

#include "base/fail.h"
#include "file/input.h"
#include "run_folder/folder.h"
#include "text/tokenizer/protobuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENT_BYTES = 1 << 16, MAX_FILE_BYTES = 1 << 30, TAG_BYTES = 128, MAX_DEPTH = 4 };
/* A record has these: the length and its checksum before the event, a checksum behind it. */
enum { HEAD_BYTES = 12, TAIL_BYTES = 4 };
/* The numbers of the fields of an Event, a Summary and a Summary.Value. */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_NUMBER = 2 };

static double present(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- records ---- */

/* CRC-32C (Castagnoli), masked as TensorFlow does, since checksums of checksums are weak. */
static uint32_t masked_crc(const char *bytes, int64_t count)
{
    uint32_t crc = ~UINT32_C(0);
    for (int64_t i = 0; i < count; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* Little-endian. */
static void put_number(char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (char)(number >> 8 * i);
}

static uint64_t take_number(const char *from, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)(unsigned char)from[i] << 8 * i;
    return number;
}

static rotary_status append_record(struct text_buffer *to, const struct text_buffer *event,
                                   rotary_error *error)
{
    rotary_status status = text_buffer_reserve(to, event->count + HEAD_BYTES + TAIL_BYTES, error);
    if (status != ROTARY_OK)
        return status;
    char *record = to->bytes + to->count;
    put_number(record, (uint64_t)event->count, 8);
    put_number(record + 8, masked_crc(record, 8), 4);
    memcpy(record + HEAD_BYTES, event->bytes, (size_t)event->count);
    put_number(record + HEAD_BYTES + event->count, masked_crc(event->bytes, event->count), 4);
    to->count += HEAD_BYTES + event->count + TAIL_BYTES;
    return ROTARY_OK;
}

/* ---- protocol buffers ---- */

static rotary_status put_varint(struct text_buffer *to, uint64_t number, rotary_error *error)
{
    char bytes[10];
    int count = 0;
    do {
        bytes[count++] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
    } while (number > 0);
    return text_buffer_append(to, bytes, count, error);
}

static rotary_status put_key(struct text_buffer *to, int field, int type, rotary_error *error)
{
    return put_varint(to, (uint64_t)(field << 3 | type), error);
}

static rotary_status put_delimited(struct text_buffer *to, int field, const char *bytes, int64_t count,
                                   rotary_error *error)
{
    rotary_status status = put_key(to, field, PROTOBUF_BYTES, error);
    if (status == ROTARY_OK)
        status = put_varint(to, (uint64_t)count, error);
    return status == ROTARY_OK ? text_buffer_append(to, bytes, count, error) : status;
}

static rotary_status put_fixed(struct text_buffer *to, int field, uint64_t bits, int bytes,
                               rotary_error *error)
{
    char number[8];
    put_number(number, bits, bytes);
    rotary_status status = put_key(to, field, bytes == 8 ? PROTOBUF_EIGHT_BYTES : PROTOBUF_FOUR_BYTES, error);
    return status == ROTARY_OK ? text_buffer_append(to, number, bytes, error) : status;
}

static rotary_status put_time(struct text_buffer *to, double time, rotary_error *error)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return put_fixed(to, EVENT_TIME, bits, 8, error);
}

static rotary_status put_scalar(struct text_buffer *summary, const char *tag, double number,
                                rotary_error *error)
{
    struct text_buffer value = {0};
    const float rounded = (float)number;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    rotary_status status = put_delimited(&value, VALUE_TAG, tag, (int64_t)strlen(tag), error);
    if (status == ROTARY_OK)
        status = put_fixed(&value, VALUE_NUMBER, bits, 4, error);
    if (status == ROTARY_OK)
        status = put_delimited(summary, SUMMARY_VALUE, value.bytes, value.count, error);
    text_buffer_free(&value);
    return status;
}

/* ---- lines ---- */

/* The numbers of an object, and of the objects in it, as scalars PREFIX/KEY. Those of the test set have its
 * name in the place of the validation set's. */
static rotary_status put_numbers(struct text_buffer *summary, const json_t *object, const char *prefix,
                                 int depth, rotary_error *error)
{
    const char *key;
    json_t *value;
    rotary_status status = ROTARY_OK;
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        char tag[TAG_BYTES];
        bool test = strcmp(prefix, "validation") == 0 && strcmp(key, "test") == 0;
        if (snprintf(tag, sizeof tag, "%s%s%s", test ? "" : prefix, test ? "" : "/", key) >= TAG_BYTES ||
            strcmp(tag, "train/step") == 0)
            continue;
        if (status == ROTARY_OK && json_is_number(value))
            status = put_scalar(summary, tag, json_number_value(value), error);
        else if (status == ROTARY_OK && json_is_object(value) && depth < MAX_DEPTH)
            status = put_numbers(summary, value, tag, depth + 1, error);
    }
    return status;
}

static rotary_status put_summary(struct text_buffer *event, const json_t *line, rotary_error *error)
{
    const json_t *evaluation = json_object_get(line, "evaluation");
    const bool averaged = json_object_get(evaluation, "checkpoint") != NULL;
    struct text_buffer summary = {0};
    rotary_status status = put_numbers(&summary, evaluation ? evaluation : line,
                                       !evaluation ? "train"
                                       : averaged  ? "average"
                                                   : "validation",
                                       0, error);
    if (status == ROTARY_OK && summary.count > 0)
        status = put_delimited(event, EVENT_SUMMARY, summary.bytes, summary.count, error);
    text_buffer_free(&summary);
    return status;
}

rotary_status event_append_version(struct text_buffer *to, double time, rotary_error *error)
{
    static const char version[] = "brain.Event:2";
    struct text_buffer event = {0};
    rotary_status status = put_time(&event, time, error);
    if (status == ROTARY_OK)
        status = put_delimited(&event, EVENT_VERSION, version, (int64_t)strlen(version), error);
    if (status == ROTARY_OK)
        status = append_record(to, &event, error);
    text_buffer_free(&event);
    return status;
}

rotary_status event_append_line(struct text_buffer *to, double time, const char *line, size_t count,
                                rotary_error *error)
{
    struct text_buffer event = {0};
    json_t *object = json_loadb(line, count, 0, NULL);
    const json_int_t step = json_integer_value(json_object_get(object, "step"));
    rotary_status status = put_time(&event, time, error);
    if (status == ROTARY_OK)
        status = put_key(&event, EVENT_STEP, PROTOBUF_VARINT, error);
    if (status == ROTARY_OK)
        status = put_varint(&event, (uint64_t)step, error);
    if (status == ROTARY_OK)
        status = put_summary(&event, object, error);
    if (status == ROTARY_OK)
        status = append_record(to, &event, error);
    text_buffer_free(&event);
    json_decref(object);
    return status;
}

/* ---- files ---- */

/* The records of an old file, one after the other. */
struct old_events {
    char *bytes;
    size_t count, at;
};

/* The time of the next record; `otherwise` behind the last whole one. */
static double next_time(struct old_events *old, double otherwise)
{
    const size_t rest = old->count - old->at;
    const char *record = old->bytes ? old->bytes + old->at : NULL;
    const uint64_t length = rest >= HEAD_BYTES ? take_number(record, 8) : UINT64_MAX;
    double time;
    if (length > MAX_EVENT_BYTES || length < 9 || rest < HEAD_BYTES + length + TAIL_BYTES ||
        take_number(record + 8, 4) != masked_crc(record, 8) ||
        record[HEAD_BYTES] != (EVENT_TIME << 3 | PROTOBUF_EIGHT_BYTES)) {
        old->at = old->count;
        return otherwise;
    }
    const uint64_t bits = take_number(record + HEAD_BYTES + 1, 8);
    memcpy(&time, &bits, sizeof time);
    old->at += HEAD_BYTES + (size_t)length + TAIL_BYTES;
    return time;
}

/* Appends the events of the lines in the first `bytes` bytes of `metrics`. */
static rotary_status append_lines(struct text_buffer *to, const char *metrics, uint64_t bytes,
                                  struct old_events *old, double now, rotary_error *error)
{
    struct lines lines;
    rotary_status status = lines_open(&lines, metrics, UINT64_MAX, error);
    if (status != ROTARY_OK)
        return status;
    while (status == ROTARY_OK && lines.taken < bytes) {
        const char *text;
        size_t count;
        status = lines_next(&lines, &text, &count, error);
        if (status != ROTARY_OK || !text)
            break;
        status = event_append_line(to, next_time(old, now), text, count, error);
    }
    lines_close(&lines);
    return status;
}

static rotary_status write_anew(const struct event_file *events, const char *metrics, uint64_t bytes,
                                rotary_error *error)
{
    const double now = present();
    struct text_buffer all = {0};
    struct old_events old = {0};
    rotary_error ignored;
    if (file_exists(events->path)) /* one that cannot be read has no times */
        (void)!file_read(events->path, MAX_FILE_BYTES, &old.bytes, &old.count, &ignored);
    rotary_status status = event_append_version(&all, next_time(&old, now), error);
    if (status == ROTARY_OK && bytes > 0)
        status = append_lines(&all, metrics, bytes, &old, now, error);
    if (status == ROTARY_OK)
        status = file_replace(events->path, all.bytes, (size_t)all.count, error);
    free(old.bytes);
    text_buffer_free(&all);
    return status;
}

rotary_status event_file_find(const char *folder, bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, FOLDER_EVENTS, error);
    return status == ROTARY_OK ? file_find(path, found, error) : status;
}

rotary_status event_file_open(struct event_file *events, const char *folder, const char *metrics,
                              uint64_t bytes, rotary_error *error)
{
    *events = (struct event_file){.file = -1};
    rotary_status status = file_output_path(events->path, folder, FOLDER_EVENTS, error);
    if (status == ROTARY_OK)
        status = write_anew(events, metrics, bytes, error);
    if (status != ROTARY_OK)
        return status;
    events->file = open(events->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (events->file < 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot write %s: %s", events->path, strerror(errno));
    return ROTARY_OK;
}

rotary_status event_file_add(struct event_file *events, const char *line, size_t count, rotary_error *error)
{
    events->record.count = 0;
    rotary_status status = event_append_line(&events->record, present(), line, count, error);
    for (int64_t at = 0; status == ROTARY_OK && at < events->record.count;) {
        ssize_t written = write(events->file, events->record.bytes + at, (size_t)(events->record.count - at));
        if (written < 0 && errno != EINTR)
            status =
                rotary_fail(error, ROTARY_IO_ERROR, "cannot write to %s: %s", events->path, strerror(errno));
        at += written > 0 ? written : 0;
    }
    return status;
}

void event_file_close(struct event_file *events)
{
    if (events->file >= 0)
        close(events->file);
    text_buffer_free(&events->record);
    events->file = -1;
}
