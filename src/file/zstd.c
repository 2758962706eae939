/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompresses .zst by libzstd.
 */
#include "file/decoder.h"

#include <zstd.h>

static void *create(void)
{
    return ZSTD_createDStream();
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
    return !ZSTD_isError(result);
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
