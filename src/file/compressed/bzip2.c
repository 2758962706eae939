/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompresses .bz2 by libbz2.
 */
#include "file/compressed/decoder.h"

#include <bzlib.h>
#include <limits.h>
#include <stdlib.h>

static bool start(bz_stream *stream)
{
    *stream = (bz_stream){.state = NULL};
    return BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK;
}

static void *create(void)
{
    bz_stream *stream = malloc(sizeof *stream);
    if (stream && start(stream))
        return stream;
    free(stream);
    return NULL;
}

static unsigned bounded(size_t count)
{
    return count < UINT_MAX ? (unsigned)count : UINT_MAX;
}

static bool decode(void *state, struct decoder_step *step)
{
    bz_stream *stream = state;
    const unsigned in = bounded(step->in_count), out = bounded(step->out_count);
    stream->next_in = (char *)(size_t)step->in; /* libbz2 writes to no input */
    stream->avail_in = in;
    stream->next_out = (char *)step->out;
    stream->avail_out = out;
    const int result = BZ2_bzDecompress(stream);
    step->in += in - stream->avail_in;
    step->in_count -= in - stream->avail_in;
    step->out += out - stream->avail_out;
    step->out_count -= out - stream->avail_out;
    step->ended = result == BZ_STREAM_END;
    if (!step->ended)
        return result == BZ_OK;
    BZ2_bzDecompressEnd(stream);
    return start(stream);
}

static void destroy(void *state)
{
    BZ2_bzDecompressEnd(state);
    free(state);
}

const struct decoder bzip2_decoder = {.library = "libbz2",
                                      .package = "libbz2-dev",
                                      .version = BZ2_bzlibVersion,
                                      .create = create,
                                      .decode = decode,
                                      .destroy = destroy};
