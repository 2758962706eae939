/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompresses .zst by libzstd.
 */
#include "file/compressed/decoder.h"

#include <zstd.h>
#include <zstd_errors.h>

/* What `zstd --long=31` writes. The library's own bound is 2^27; a window takes as much memory as the text
 * has. */
enum { MAX_WINDOW_LOG = 31 };

static void *create(void)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    const int bound = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    if (stream)
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, bound < MAX_WINDOW_LOG ? bound : MAX_WINDOW_LOG);
    return stream;
}

/* Why a frame that may be valid is not read. */
static const char *reason_of(size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return "a window of more than 2 GiB (2^31 bytes): compress it anew with `zstd --long=31` or less";
    case ZSTD_error_memory_allocation:
        return "more memory for its window than there is: compress it anew with a smaller `zstd --long`";
    default:
        return NULL;
    }
}

static bool decode(void *state, struct decoder_step *step)
{
    ZSTD_inBuffer in = {step->in, step->in_count, 0};
    ZSTD_outBuffer out = {step->out, step->out_count, 0};
    const size_t result = ZSTD_decompressStream(state, &out, &in);
    step->in += in.pos;
    step->in_count -= in.pos;
    step->out += out.pos;
    step->out_count -= out.pos;
    step->ended = result == 0;
    if (!ZSTD_isError(result))
        return true;
    step->refused = reason_of(result);
    return false;
}

static void destroy(void *state)
{
    ZSTD_freeDStream(state);
}

const struct decoder zstd_decoder = {.library = "libzstd",
                                     .package = "libzstd-dev",
                                     .version = ZSTD_versionString,
                                     .create = create,
                                     .decode = decode,
                                     .destroy = destroy};
