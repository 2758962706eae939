/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompresses .gz by zlib.
 */
#include "file/decoder.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 }; /* the largest, and gzip's header */

static void *create(void)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream && inflateInit2(stream, GZIP_WINDOW) == Z_OK)
        return stream;
    free(stream);
    return NULL;
}

static uInt bounded(size_t count)
{
    return count < UINT_MAX ? (uInt)count : UINT_MAX;
}

static bool decode(void *state, struct decoder_step *step)
{
    z_stream *stream = state;
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
    step->ended = result == Z_STREAM_END;
    return step->ended ? inflateReset(stream) == Z_OK : result == Z_OK || result == Z_BUF_ERROR;
}

static void destroy(void *state)
{
    inflateEnd(state);
    free(state);
}

const struct decoder gzip_decoder = {.library = "zlib",
                                     .package = "zlib1g-dev",
                                     .version = zlibVersion,
                                     .create = create,
                                     .decode = decode,
                                     .destroy = destroy};
