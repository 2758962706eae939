/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/segments.h"

#include <rotary/version.h>
#include <stdio.h>
#include <string.h>

void segments_sum(const int64_t *rows, int64_t count, int width, int64_t *sums)
{
    memset(sums, 0, sizeof *sums * (size_t)width);
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < width; j++)
            sums[j] += rows[i * width + j];
}

const char *segments_version(char text[SIGNATURE_VERSION_BYTES])
{
    snprintf(text, SIGNATURE_VERSION_BYTES, "2.6.0+rotary.%s", rotary_version());
    return text;
}

int segments_signature(char text[SIGNATURE_BYTES], int reference_count,
                       const struct segment_sampling *sampling)
{
    int used = snprintf(text, SIGNATURE_BYTES, "nrefs:%d|", reference_count);
    if (!sampling)
        return used;
    if (sampling->bootstrap > 0)
        used += snprintf(text + used, (size_t)(SIGNATURE_BYTES - used), "bs:%lld|",
                         (long long)sampling->bootstrap);
    if (sampling->trials > 0)
        used +=
            snprintf(text + used, (size_t)(SIGNATURE_BYTES - used), "ar:%lld|", (long long)sampling->trials);
    return used +
           snprintf(text + used, (size_t)(SIGNATURE_BYTES - used), "seed:%lld|", (long long)sampling->seed);
}
