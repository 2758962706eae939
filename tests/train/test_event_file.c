/* SPDX-License-Identifier: Apache-2.0
 *
 * Event files: the bytes that TensorBoard's own writer makes of the same lines; a file that is opened again
 * keeps the time of events whose lines are still there, and loses the others.
 */
#include "run_folder/folder.h"
#include "support/check.h"
#include "support/scratch.h"
#include "train/event_goldens.h"
#include "train/folder/event_file.h"
#include "train/runs.h"

#include <stdlib.h>
#include <string.h>

static const char lines[] = "{\"step\":1,\"loss\":2.5}\n{\"step\":1,\"evaluation\":{\"loss\":3}}\n"
                            "{\"step\":2,\"loss\":2.25}\n";
enum { FIRST_LINES = sizeof "{\"step\":1,\"loss\":2.5}\n{\"step\":1,\"evaluation\":{\"loss\":3}}\n" - 1 };

static void test_goldens(void)
{
    for (size_t i = 0; i < sizeof golden_events / sizeof golden_events[0]; i++) {
        const char *line = golden_events[i].line;
        struct text_buffer made = {0};
        check_about("event %zu", i);
        CHECK(made.count == 0);
        rotary_status status = line
                                   ? event_append_line(&made, golden_events[i].time, line, strlen(line), NULL)
                                   : event_append_version(&made, golden_events[i].time, NULL);
        CHECK_INT(status, ROTARY_OK);
        CHECK_INT(made.count, golden_events[i].bytes);
        CHECK(made.count == golden_events[i].bytes &&
              memcmp(made.bytes, golden_events[i].record, (size_t)made.count) == 0);
        text_buffer_free(&made);
    }
    check_about("%s", "");
}

struct file {
    char *bytes;
    size_t count;
};

static struct file read_events(const char *folder)
{
    char path[FILE_PATH_BYTES];
    struct file file = {0};
    CHECK_INT(file_path(path, folder, FOLDER_EVENTS, NULL), ROTARY_OK);
    CHECK_INT(file_read(path, 1 << 20, &file.bytes, &file.count, NULL), ROTARY_OK);
    return file;
}

/* What a file has that begins at the times of `old` and then has those of `lines`. */
static void open_events(const char *folder, const char *metrics, uint64_t bytes)
{
    struct event_file events;
    rotary_error error = {0};
    if (!CHECK_INT(event_file_open(&events, folder, metrics, bytes, &error), ROTARY_OK))
        return;
    event_file_close(&events);
}

/* The prefix of a file that has its first `records` records. */
static size_t prefix(const struct file *file, int records)
{
    size_t at = 0;
    for (int i = 0; i < records && at + 12 < file->count; i++)
        at += 16 + (unsigned char)file->bytes[at] + ((size_t)(unsigned char)file->bytes[at + 1] << 8);
    return at;
}

static void test_resume(void)
{
    const char *folder = new_folder("events");
    char metrics[FILE_PATH_BYTES];
    CHECK_INT(file_path(metrics, folder, FOLDER_METRICS, NULL), ROTARY_OK);
    scratch_write(metrics, lines, sizeof lines - 1);
    bool found = true;
    CHECK_INT(event_file_find(folder, &found, NULL), ROTARY_OK);
    CHECK(!found);

    open_events(folder, metrics, sizeof lines - 1);
    struct file all = read_events(folder);
    CHECK_INT((int64_t)prefix(&all, 4), (int64_t)all.count);
    CHECK(prefix(&all, 3) < all.count);

    open_events(folder, metrics, FIRST_LINES); /* resumed at step 1 */
    struct file first = read_events(folder);
    CHECK_INT((int64_t)first.count, (int64_t)prefix(&all, 3));
    CHECK(memcmp(first.bytes, all.bytes, first.count) == 0);

    struct event_file events; /* a line more, which has the present time */
    const char *last = lines + FIRST_LINES;
    CHECK_INT(event_file_open(&events, folder, metrics, FIRST_LINES, NULL), ROTARY_OK);
    CHECK_INT(event_file_add(&events, last, strlen(last), NULL), ROTARY_OK);
    event_file_close(&events);
    struct file more = read_events(folder);
    CHECK_INT((int64_t)more.count, (int64_t)all.count);
    CHECK(memcmp(more.bytes, all.bytes, first.count) == 0);
    CHECK(memcmp(more.bytes + first.count, all.bytes + first.count, 8) == 0);

    char path[FILE_PATH_BYTES]; /* damaged: what is whole keeps its time */
    CHECK_INT(file_path(path, folder, FOLDER_EVENTS, NULL), ROTARY_OK);
    scratch_write(path, more.bytes, first.count - 3);
    open_events(folder, metrics, sizeof lines - 1);
    struct file again = read_events(folder);
    CHECK_INT((int64_t)again.count, (int64_t)all.count);
    CHECK(memcmp(again.bytes, all.bytes, prefix(&all, 2)) == 0);
    free(all.bytes);
    free(first.bytes);
    free(more.bytes);
    free(again.bytes);
}

int main(void)
{
    test_goldens();
    test_resume();
    return check_report();
}
