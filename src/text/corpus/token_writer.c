/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/token_writer.h"

#include "base/fail.h"
#include "base/integer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note_magic[16] = "rotary partial\n";

/* Where the header will be. */
struct note {
    char magic[16];
    int64_t format;
    struct token_file_key key;
    struct token_file_contents contents;
    struct token_place place;
    uint64_t checksum; /* of what is before */
};

_Static_assert(sizeof(struct note) <= TOKEN_FILE_HEADER_BYTES, "the note has room");

static rotary_status fail_system(const char *doing, const char *path, rotary_error *error)
{
    return rotary_fail(error, ROTARY_IO_ERROR, "cannot %s %.350s: %s", doing, path, strerror(errno));
}

/* ---- streams ---- */

static rotary_status stream_open(struct token_stream *stream, rotary_error *error)
{
    stream->descriptor = open(stream->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    return stream->descriptor < 0 ? fail_system("create", stream->path, error) : ROTARY_OK;
}

static void stream_close(struct token_stream *stream)
{
    if (stream->descriptor >= 0)
        close(stream->descriptor);
    stream->descriptor = -1;
}

static rotary_status stream_write(struct token_stream *stream, const void *bytes, size_t count,
                                  rotary_error *error)
{
    const char *next = bytes;
    while (count > 0) {
        const ssize_t written = write(stream->descriptor, next, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_system("write", stream->path, error);
        next += written;
        count -= (size_t)written;
    }
    return ROTARY_OK;
}

static rotary_status stream_add(struct token_stream *stream, const void *bytes, size_t count,
                                rotary_error *error)
{
    block_checksum_add(&stream->checksum, bytes, count);
    return stream_write(stream, bytes, count, error);
}

/* Cuts what is behind `bytes`, and continues there. */
static rotary_status stream_start(struct token_stream *stream, int64_t bytes, rotary_error *error)
{
    if (ftruncate(stream->descriptor, (off_t)bytes) != 0 ||
        lseek(stream->descriptor, (off_t)bytes, SEEK_SET) < 0)
        return fail_system("write", stream->path, error);
    return ROTARY_OK;
}

/* Reads `count` bytes behind `offset` into the checksum, by way of `block`; false if they are not there. */
static bool stream_read(struct token_stream *stream, int64_t offset, int64_t count, void *block,
                        int64_t block_bytes)
{
    block_checksum_start(&stream->checksum);
    while (count > 0) {
        const ssize_t got =
            pread(stream->descriptor, block, (size_t)min_i64(count, block_bytes), (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        block_checksum_add(&stream->checksum, block, (size_t)got);
        offset += got;
        count -= got;
    }
    return true;
}

/* ---- opening ---- */

/* Whether the name still is that of the open file: who finished renamed it, who failed removed it. */
static bool is_current(const struct token_stream *stream)
{
    struct stat named, opened;
    return stat(stream->path, &named) == 0 && fstat(stream->descriptor, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

static rotary_status name_files(struct token_writer *writer, rotary_error *error)
{
    const int lengths[] = {
        snprintf(writer->tokens.path, sizeof writer->tokens.path, "%s.partial", writer->path),
        snprintf(writer->starts.path, sizeof writer->starts.path, "%s.starts.partial", writer->path)};
    if (lengths[0] < 0 || lengths[1] < 0 || lengths[1] >= FILE_PATH_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                           strlen(writer->path), writer->path);
    return ROTARY_OK;
}

rotary_status token_writer_open(struct token_writer *writer, const char *path, bool *busy,
                                rotary_error *error)
{
    *busy = false;
    *writer = (struct token_writer){.tokens.descriptor = -1, .starts.descriptor = -1};
    snprintf(writer->path, sizeof writer->path, "%s", path);
    rotary_status status = name_files(writer, error);
    if (status == ROTARY_OK)
        status = stream_open(&writer->tokens, error);
    if (status != ROTARY_OK)
        return status;
    /* A file system without locks leaves two writers to replace the file one after the other. */
    const bool locked = flock(writer->tokens.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    *busy = !locked || !is_current(&writer->tokens);
    if (*busy)
        stream_close(&writer->tokens);
    return ROTARY_OK;
}

void token_writer_close(struct token_writer *writer, bool keep)
{
    if (writer->tokens.descriptor >= 0 && !keep && is_current(&writer->tokens)) {
        unlink(writer->starts.path);
        unlink(writer->tokens.path);
    }
    stream_close(&writer->starts);
    stream_close(&writer->tokens);
}

/* ---- going on ---- */

static uint64_t note_checksum(const struct note *note)
{
    struct checksum checksum;
    checksum_start(&checksum);
    checksum_add(&checksum, note, offsetof(struct note, checksum));
    return checksum_finish(&checksum);
}

/* Whether there is a note about tokens of the same key. */
static bool read_note(const struct token_writer *writer, struct note *note)
{
    return pread(writer->tokens.descriptor, note, sizeof *note, 0) == (ssize_t)sizeof *note &&
           memcmp(note->magic, note_magic, sizeof note_magic) == 0 && note->format == TOKEN_FILE_FORMAT &&
           note->checksum == note_checksum(note) && memcmp(&note->key, &writer->key, sizeof note->key) == 0 &&
           note->contents.tokens >= 0 && note->contents.tokens < INT64_MAX / 8 &&
           note->contents.documents >= 0 && note->contents.documents <= note->contents.tokens + 1;
}

/* Whether all that the note is about is in the files. */
static bool check_note(struct token_writer *writer, const struct note *note)
{
    const struct token_file_contents *contents = &note->contents;
    return stream_read(&writer->tokens, TOKEN_FILE_HEADER_BYTES, contents->tokens * (int64_t)sizeof(int32_t),
                       writer->pending, sizeof writer->pending) &&
           stream_read(&writer->starts, 0, contents->documents * (int64_t)sizeof *writer->pending,
                       writer->pending, sizeof writer->pending) &&
           block_checksum_finish(&writer->tokens.checksum) == contents->tokens_checksum &&
           block_checksum_finish(&writer->starts.checksum) == contents->starts_checksum;
}

rotary_status token_writer_start(struct token_writer *writer, const struct token_file_key *key,
                                 struct token_place *place, rotary_error *error)
{
    struct note note;
    writer->key = *key;
    rotary_status status = stream_open(&writer->starts, error);
    if (status != ROTARY_OK)
        return status;
    if (!read_note(writer, &note) || !check_note(writer, &note)) {
        note = (struct note){.format = 0};
        block_checksum_start(&writer->tokens.checksum);
        block_checksum_start(&writer->starts.checksum);
        /* The note is gone before what it is about. */
        status = stream_start(&writer->tokens, 0, error);
    }
    writer->contents = note.contents;
    *place = note.place;
    if (status == ROTARY_OK)
        status =
            stream_start(&writer->starts, note.contents.documents * (int64_t)sizeof *writer->pending, error);
    if (status == ROTARY_OK)
        status =
            stream_start(&writer->tokens,
                         TOKEN_FILE_HEADER_BYTES + note.contents.tokens * (int64_t)sizeof(int32_t), error);
    return status;
}

/* ---- writing ---- */

static rotary_status write_pending(struct token_writer *writer, rotary_error *error)
{
    const size_t bytes = (size_t)writer->pending_count * sizeof *writer->pending;
    writer->pending_count = 0;
    return stream_add(&writer->starts, writer->pending, bytes, error);
}

static rotary_status add_begin(struct token_writer *writer, struct token_file_begin begin,
                               rotary_error *error)
{
    writer->pending[writer->pending_count++] = begin;
    return writer->pending_count == TOKEN_WRITER_BEGINS ? write_pending(writer, error) : ROTARY_OK;
}

rotary_status token_writer_begin(struct token_writer *writer, struct token_file_begin ahead,
                                 rotary_error *error)
{
    const struct token_file_contents *contents = &writer->contents;
    writer->contents.documents++;
    return add_begin(writer,
                     (struct token_file_begin){contents->tokens + ahead.token, contents->bytes + ahead.byte},
                     error);
}

rotary_status token_writer_add(struct token_writer *writer, const int32_t *tokens, int64_t count,
                               rotary_error *error)
{
    writer->contents.tokens += count;
    return stream_add(&writer->tokens, tokens, (size_t)count * sizeof *tokens, error);
}

static rotary_status write_at_begin(struct token_writer *writer, const void *bytes, size_t count,
                                    rotary_error *error)
{
    const ssize_t written = pwrite(writer->tokens.descriptor, bytes, count, 0);
    return written == (ssize_t)count ? ROTARY_OK : fail_system("write", writer->tokens.path, error);
}

/* The contents so far, with their checksums. */
static void sum_contents(struct token_writer *writer)
{
    writer->contents.tokens_checksum = block_checksum_finish(&writer->tokens.checksum);
    writer->contents.starts_checksum = block_checksum_finish(&writer->starts.checksum);
}

rotary_status token_writer_note(struct token_writer *writer, const struct token_place *place,
                                rotary_error *error)
{
    rotary_status status = write_pending(writer, error);
    if (status != ROTARY_OK)
        return status;
    sum_contents(writer);
    struct note note;
    memset(&note, 0, sizeof note);
    memcpy(note.magic, note_magic, sizeof note_magic);
    note.format = TOKEN_FILE_FORMAT;
    note.key = writer->key;
    note.contents = writer->contents;
    note.place = *place;
    note.checksum = note_checksum(&note);
    return write_at_begin(writer, &note, sizeof note, error);
}

/* Appends the starts to the tokens. */
static rotary_status join_streams(struct token_writer *writer, rotary_error *error)
{
    char *block = (char *)writer->pending;
    const off_t end = (off_t)token_file_begins_at(writer->contents.tokens);
    if (lseek(writer->starts.descriptor, 0, SEEK_SET) != 0 ||
        lseek(writer->tokens.descriptor, end, SEEK_SET) != end)
        return fail_system("read", writer->starts.path, error);
    for (;;) {
        const ssize_t got = read(writer->starts.descriptor, block, sizeof writer->pending);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_system("read", writer->starts.path, error);
        if (got == 0)
            return ROTARY_OK;
        rotary_status status = stream_write(&writer->tokens, block, (size_t)got, error);
        if (status != ROTARY_OK)
            return status;
    }
}

/* In the place of the note, which is longer. */
static rotary_status write_header(struct token_writer *writer, rotary_error *error)
{
    char bytes[TOKEN_FILE_HEADER_BYTES] = {0};
    struct token_file_header header;
    sum_contents(writer);
    token_file_header_make(&header, &writer->key, &writer->contents);
    memcpy(bytes, &header, sizeof header);
    return write_at_begin(writer, bytes, sizeof bytes, error);
}

rotary_status token_writer_finish(struct token_writer *writer, rotary_error *error)
{
    const struct token_file_begin end = {writer->contents.tokens, writer->contents.bytes};
    rotary_status status = add_begin(writer, end, error);
    if (status == ROTARY_OK)
        status = write_pending(writer, error);
    if (status == ROTARY_OK)
        status = join_streams(writer, error);
    if (status == ROTARY_OK)
        status = write_header(writer, error);
    if (status == ROTARY_OK && fsync(writer->tokens.descriptor) != 0)
        status = fail_system("write", writer->tokens.path, error);
    if (status != ROTARY_OK)
        return status;
    unlink(writer->starts.path); /* before the name is another writer's */
    return file_rename(writer->tokens.path, writer->path, error);
}
