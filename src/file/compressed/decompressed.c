/* SPDX-License-Identifier: Apache-2.0 */
#include "file/compressed/decompressed.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16 };

static const struct {
    const char *suffix;
    const struct decoder *decoder;
} compressions[COMPRESSIONS] = {[COMPRESSION_NONE] = {"", NULL},
                                [COMPRESSION_GZIP] = {".gz", &gzip_decoder},
                                [COMPRESSION_ZSTD] = {".zst", &zstd_decoder},
                                [COMPRESSION_BZIP2] = {".bz2", &bzip2_decoder}};

enum compression compression_of(const char *path, size_t *length)
{
    *length = strlen(path);
    for (int i = COMPRESSION_NONE + 1; i < COMPRESSIONS; i++) {
        const size_t count = strlen(compressions[i].suffix);
        if (*length > count && strcmp(path + *length - count, compressions[i].suffix) == 0) {
            *length -= count;
            return (enum compression)i;
        }
    }
    return COMPRESSION_NONE;
}

bool compression_is_supported(enum compression compression)
{
    return !compressions[compression].decoder || compressions[compression].decoder->create;
}

const char *compression_library(enum compression compression)
{
    return compressions[compression].decoder->library;
}

const char *compression_version(enum compression compression)
{
    const struct decoder *decoder = compressions[compression].decoder;
    return decoder->version ? decoder->version() : NULL;
}

static rotary_status check_supported(const char *path, enum compression compression, rotary_error *error)
{
    const struct decoder *decoder = compressions[compression].decoder;
    return compression_is_supported(compression)
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_UNSUPPORTED,
                             "%s: this program was built without %s: install %s (the name of a Debian "
                             "package), and build it again",
                             path, decoder->library, decoder->package);
}

rotary_status decompressed_open(struct decompressed *file, const char *path, enum compression compression,
                                rotary_error *error)
{
    const struct decoder *decoder = compressions[compression].decoder;
    *file = (struct decompressed){.input.descriptor = -1, .step.ended = true};
    rotary_status status = check_supported(path, compression, error);
    if (status == ROTARY_OK)
        status = input_open(&file->input, path, error);
    if (status != ROTARY_OK || !decoder)
        return status;
    file->decoder = decoder;
    file->block = malloc(BLOCK_BYTES);
    file->state = file->block ? decoder->create() : NULL;
    return file->state ? ROTARY_OK : rotary_fail_memory(error, "to decompress %s", path);
}

/* Reads on if all was taken. False at the end. */
static rotary_status read_block(struct decompressed *file, bool *more, rotary_error *error)
{
    size_t got = 1;
    rotary_status status = ROTARY_OK;
    if (file->step.in_count == 0) {
        status = input_read(&file->input, file->block, BLOCK_BYTES, &got, error);
        file->step.in = file->block;
        file->step.in_count = got;
        file->consumed += (int64_t)got;
    }
    *more = got > 0;
    return status;
}

static rotary_status decode(struct decompressed *file, bool *more, rotary_error *error)
{
    struct decoder_step *step = &file->step;
    rotary_status status = read_block(file, more, error);
    if (status != ROTARY_OK)
        return status;
    if (!*more && step->ended)
        return ROTARY_OK;
    /* At the end of the file there may be some left that was taken and not given. */
    const size_t in = step->in_count, out = step->out_count;
    if (!file->decoder->decode(file->state, step))
        return step->refused
                   ? rotary_fail(error, ROTARY_UNSUPPORTED, "%s cannot be decompressed: it wants %s",
                                 file->input.path, step->refused)
                   : rotary_fail(error, ROTARY_BAD_FILE, "%s is damaged: it cannot be decompressed",
                                 file->input.path);
    if (step->in_count == in && step->out_count == out)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           *more ? "%s is damaged: it cannot be decompressed"
                                 : "%s is truncated: its compressed text does not end",
                           file->input.path);
    *more = true;
    return ROTARY_OK;
}

rotary_status decompressed_read(struct decompressed *file, void *bytes, size_t count, size_t *got,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (!file->decoder) {
        status = input_read(&file->input, bytes, count, got, error);
        file->consumed += (int64_t)*got;
        return status;
    }
    bool more = true;
    file->step.out = bytes;
    file->step.out_count = count;
    while (more && file->step.out_count > 0 && status == ROTARY_OK)
        status = decode(file, &more, error);
    *got = count - file->step.out_count;
    return status;
}

void decompressed_close(struct decompressed *file)
{
    if (file->state)
        file->decoder->destroy(file->state);
    free(file->block);
    file->state = NULL;
    file->block = NULL;
    input_close(&file->input);
}

rotary_status compressed_replace(const char *path, const void *bytes, size_t count, rotary_error *error)
{
    struct encoder_step step = {.in = bytes, .in_count = count};
    rotary_status status = check_supported(path, COMPRESSION_GZIP, error);
    if (status != ROTARY_OK)
        return status;
    if (count > COMPRESSED_MAX_BYTES)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s would hold %zu bytes, wanted at most %d", path,
                           count, (int)COMPRESSED_MAX_BYTES);
    if (!gzip_decoder.encode(&step))
        return rotary_fail_memory(error, "to compress %s", path);
    status = file_replace(path, step.out, step.out_count, error);
    free(step.out);
    return status;
}
