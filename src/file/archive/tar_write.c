/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "file/archive/tar_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 16 };
static const char file_time[] = "02263523000"; /* 1980-01-01: some programs warn of a time before */

static rotary_status append(struct tar_writer *writer, const void *bytes, size_t count, rotary_error *error)
{
    const size_t padded = (count + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    if (padded > writer->capacity - writer->count) {
        const size_t capacity = 2 * (writer->capacity + padded) + FIRST_CAPACITY;
        unsigned char *larger = realloc(writer->bytes, capacity);
        if (!larger)
            return rotary_fail_memory(error, "for an archive of %zu bytes", capacity);
        writer->bytes = larger;
        writer->capacity = capacity;
    }
    memset(writer->bytes + writer->count, 0, padded);
    if (count > 0)
        memcpy(writer->bytes + writer->count, bytes, count);
    writer->count += padded;
    return ROTARY_OK;
}

/* A long name is cut at a slash. False: it has none at which both parts have room. */
static bool set_name(struct tar_header *header, const char *name)
{
    const size_t length = strlen(name);
    if (length <= sizeof header->name) {
        memcpy(header->name, name, length);
        return true;
    }
    const size_t least = length - sizeof header->name - 1;
    const char *slash = strchr(name + least, '/');
    if (!slash || slash == name || !slash[1] || (size_t)(slash - name) > sizeof header->prefix)
        return false;
    memcpy(header->prefix, name, (size_t)(slash - name));
    memcpy(header->name, slash + 1, strlen(slash + 1));
    return true;
}

rotary_status tar_add(struct tar_writer *writer, const char *name, const void *bytes, size_t count,
                      rotary_error *error)
{
    struct tar_header header = {.mode = "0000644",
                                .owner = "0000000",
                                .group = "0000000",
                                .type = TAR_FILE,
                                .magic = "ustar",
                                .version = "00",
                                .major = "0000000",
                                .minor = "0000000"};
    memcpy(header.time, file_time, sizeof header.time);
    if (!set_name(&header, name) ||
        snprintf(header.size, sizeof header.size, "%011zo", count) >= (int)sizeof header.size)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "an archive has no room for the name or the size of %.300s", name);
    snprintf(header.checksum, sizeof header.checksum, "%06o", tar_checksum(&header));
    header.checksum[sizeof header.checksum - 1] = ' ';
    rotary_status status = append(writer, &header, sizeof header, error);
    return status == ROTARY_OK ? append(writer, bytes, count, error) : status;
}

rotary_status tar_end(struct tar_writer *writer, rotary_error *error)
{
    static const unsigned char end[2 * TAR_BLOCK];
    return append(writer, end, sizeof end, error);
}

void tar_writer_free(struct tar_writer *writer)
{
    free(writer->bytes);
    *writer = (struct tar_writer){0};
}
