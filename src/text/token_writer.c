/* SPDX-License-Identifier: Apache-2.0 */
#include "text/token_writer.h"

#include "base/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Empties the file, and continues behind `offset`. */
static rotary_status stream_start(struct token_stream *stream, int64_t offset, rotary_error *error)
{
    block_checksum_start(&stream->checksum);
    if (ftruncate(stream->descriptor, 0) != 0 || lseek(stream->descriptor, (off_t)offset, SEEK_SET) < 0)
        return fail_system("write", stream->path, error);
    return ROTARY_OK;
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
        snprintf(writer->begins.path, sizeof writer->begins.path, "%s.begins.partial", writer->path)};
    if (lengths[0] < 0 || lengths[1] < 0 || lengths[1] >= FILE_PATH_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a path of %zu bytes is too long: %.64s...",
                           strlen(writer->path), writer->path);
    return ROTARY_OK;
}

rotary_status token_writer_open(struct token_writer *writer, const char *path, bool *busy,
                                rotary_error *error)
{
    *busy = false;
    *writer = (struct token_writer){.tokens.descriptor = -1, .begins.descriptor = -1};
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

rotary_status token_writer_start(struct token_writer *writer, rotary_error *error)
{
    rotary_status status = stream_open(&writer->begins, error);
    if (status == ROTARY_OK)
        status = stream_start(&writer->begins, 0, error);
    if (status == ROTARY_OK)
        status = stream_start(&writer->tokens, TOKEN_FILE_HEADER_BYTES, error);
    return status;
}

void token_writer_close(struct token_writer *writer)
{
    if (writer->tokens.descriptor >= 0 && is_current(&writer->tokens)) {
        unlink(writer->begins.path);
        unlink(writer->tokens.path);
    }
    stream_close(&writer->begins);
    stream_close(&writer->tokens);
}

/* ---- writing ---- */

static rotary_status write_pending(struct token_writer *writer, rotary_error *error)
{
    const size_t bytes = (size_t)writer->pending_count * sizeof *writer->pending;
    writer->pending_count = 0;
    return stream_add(&writer->begins, writer->pending, bytes, error);
}

static rotary_status add_begin(struct token_writer *writer, int64_t token, rotary_error *error)
{
    writer->pending[writer->pending_count++] = token;
    return writer->pending_count == TOKEN_WRITER_BEGINS ? write_pending(writer, error) : ROTARY_OK;
}

rotary_status token_writer_begin(struct token_writer *writer, int64_t ahead, rotary_error *error)
{
    writer->contents.documents++;
    return add_begin(writer, writer->contents.tokens + ahead, error);
}

rotary_status token_writer_add(struct token_writer *writer, const int32_t *tokens, int64_t count,
                               rotary_error *error)
{
    writer->contents.tokens += count;
    return stream_add(&writer->tokens, tokens, (size_t)count * sizeof *tokens, error);
}

/* Appends the begins to the tokens. */
static rotary_status join_streams(struct token_writer *writer, rotary_error *error)
{
    char *block = (char *)writer->pending;
    const off_t end = (off_t)token_file_begins_at(writer->contents.tokens);
    if (lseek(writer->begins.descriptor, 0, SEEK_SET) != 0 ||
        lseek(writer->tokens.descriptor, end, SEEK_SET) != end)
        return fail_system("read", writer->begins.path, error);
    for (;;) {
        const ssize_t got = read(writer->begins.descriptor, block, sizeof writer->pending);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_system("read", writer->begins.path, error);
        if (got == 0)
            return ROTARY_OK;
        rotary_status status = stream_write(&writer->tokens, block, (size_t)got, error);
        if (status != ROTARY_OK)
            return status;
    }
}

static rotary_status write_header(struct token_writer *writer, const struct token_file_key *key,
                                  rotary_error *error)
{
    struct token_file_header header;
    writer->contents.tokens_checksum = block_checksum_finish(&writer->tokens.checksum);
    writer->contents.begins_checksum = block_checksum_finish(&writer->begins.checksum);
    token_file_header_make(&header, key, &writer->contents);
    if (lseek(writer->tokens.descriptor, 0, SEEK_SET) != 0)
        return fail_system("write", writer->tokens.path, error);
    return stream_write(&writer->tokens, &header, sizeof header, error);
}

rotary_status token_writer_finish(struct token_writer *writer, const struct token_file_key *key,
                                  rotary_error *error)
{
    rotary_status status = add_begin(writer, writer->contents.tokens, error);
    if (status == ROTARY_OK)
        status = write_pending(writer, error);
    if (status == ROTARY_OK)
        status = join_streams(writer, error);
    if (status == ROTARY_OK)
        status = write_header(writer, key, error);
    if (status == ROTARY_OK && fsync(writer->tokens.descriptor) != 0)
        status = fail_system("write", writer->tokens.path, error);
    if (status != ROTARY_OK)
        return status;
    unlink(writer->begins.path); /* before the name is another writer's */
    return file_rename(writer->tokens.path, writer->path, error);
}
