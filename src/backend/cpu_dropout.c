/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cpu.h"

#include <math.h>

enum { STREAM_BITS = 8 }; /* of the random stream's number; the site is in the bits above */

struct layer_mask dropout_mask(struct dropout dropout)
{
    struct layer_mask mask = {.scale = 1.0f};
    if (!(dropout.probability > 0.0f && dropout.probability < 1.0f))
        return mask;
    mask.key = (struct rotary_random_key){.seed = dropout.seed,
                                          .stream = ROTARY_STREAM_DROPOUT | dropout.site << STREAM_BITS,
                                          .step = dropout.step};
    mask.threshold = (uint32_t)fmin(rint((double)dropout.probability * 0x1p32), 0x1.fffffffep31);
    mask.first_row = dropout.first_row;
    mask.scale = (float)(1.0 / (1.0 - (double)dropout.probability));
    return mask;
}
