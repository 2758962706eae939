/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompresses and compresses .gz by zlib.
 */
#include "file/compressed/decoder.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 }; /* the largest, and gzip's header */

struct gzip {
    z_stream stream;
    bool between; /* one part has ended, and no other has begun */
};

static void *create(void)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);
    if (gzip && inflateInit2(&gzip->stream, GZIP_WINDOW) == Z_OK)
        return gzip;
    free(gzip);
    return NULL;
}

/* Tapes and archives pad a file with zero bytes, which gzip and Python leave out; no part begins with one. */
static void skip_padding(struct decoder_step *step)
{
    while (step->in_count > 0 && *step->in == 0) {
        step->in++;
        step->in_count--;
    }
}

static uInt bounded(size_t count)
{
    return count < UINT_MAX ? (uInt)count : UINT_MAX;
}

static bool decode(void *state, struct decoder_step *step)
{
    struct gzip *gzip = state;
    z_stream *stream = &gzip->stream;
    if (gzip->between)
        skip_padding(step);
    if (gzip->between && step->in_count == 0)
        return true;
    const uInt in = bounded(step->in_count), out = bounded(step->out_count);
    stream->next_in = (Bytef *)(size_t)step->in; /* zlib writes to no input */
    stream->avail_in = in;
    stream->next_out = step->out;
    stream->avail_out = out;
    const int result = inflate(stream, Z_NO_FLUSH);
    step->in += in - stream->avail_in;
    step->in_count -= in - stream->avail_in;
    step->out += out - stream->avail_out;
    step->out_count -= out - stream->avail_out;
    step->ended = gzip->between = result == Z_STREAM_END;
    return step->ended ? inflateReset(stream) == Z_OK : result == Z_OK || result == Z_BUF_ERROR;
}

static void destroy(void *state)
{
    struct gzip *gzip = state;
    inflateEnd(&gzip->stream);
    free(gzip);
}

/* The header has neither a name nor a time, so that equal bytes become equal files. */
static bool encode(struct encoder_step *step)
{
    enum { MEMORY_LEVEL = 9 };
    z_stream stream = {.next_in = (Bytef *)(size_t)step->in, .avail_in = (uInt)step->in_count};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    const uLong bound = deflateBound(&stream, (uLong)step->in_count);
    step->out = malloc(bound);
    stream.next_out = step->out;
    stream.avail_out = (uInt)bound;
    const bool good = step->out && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    step->out_count = stream.total_out;
    deflateEnd(&stream);
    if (good)
        return true;
    free(step->out);
    step->out = NULL;
    return false;
}

const struct decoder gzip_decoder = {.library = "zlib",
                                     .package = "zlib1g-dev",
                                     .version = zlibVersion,
                                     .create = create,
                                     .decode = decode,
                                     .destroy = destroy,
                                     .encode = encode};
